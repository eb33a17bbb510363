; y = max(x + bias, 0) on one tile of 32 x 32 int8, from external memory and back.
;
;   iss run first.s --profile                                   a tile of constants, bias 5
;   iss run first.s --entry tile --input x=x.bin --input bias=5 --output y=y.bin
;
; Look at what the PEs hold: --break-region store --print a0.

.target QC-U

; Row r of the tile begins r bytes behind the first: x[r][c] = r + c - 32.
.const e0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff
.const 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f

.entry main
.param y ext out 1024 s10
.constants_reg s8
    s_mov s9, #5                     ; the bias
    s_mov s11, #1                    ; bytes from a row of x to the next
    jump @body

.entry tile
.param x ext in 1024 s8
.param bias scalar s9
.param y ext out 1024 s10
    s_mov s11, #32

body:
    region "load"
    d_set d0, ext, s8                ; external memory to on-chip memory: 32 rows of 32 bytes to address 0
    d_set d0, bytes, #32
    d_set d0, n0, #32
    d_set d0, ext_pitch, s11
    d_set d0, row_pitch, #32
    dma_in d0, t0
    d_set d1, elem, #1               ; on-chip memory to the array: one tile, to byte 0 of each PE
    d_set d1, width, #32
    d_set d1, height, #32
    d_set d1, row_pitch, #32
    d_set d1, col_step, #1
    d_set d1, row_step, #1
    d_set d1, rows, #32
    d_set d1, cols, #32
    wait t0, all
    flow_in d1, t1
    wait t1, all
    region_end

    region "compute"
    add a0, [0].b, s9
    max a0, a0, #0
    clip a0, a0, #-128, #127         ; to int8
    mov [4].b, a0
    region_end

    region "store"
    d_set d1, ocm, #1024             ; the way back: byte 4 of each PE, address 1024
    d_set d1, lrm, #4
    flow_out d1, t1
    d_set d0, ext, s10
    d_set d0, ocm, #1024
    d_set d0, ext_pitch, #32
    wait t1, all
    dma_out d0, t0
    wait t0, all
    region_end
    halt
