"""Six described cases in which mixed precision did not pay, the causes to choose from, and a reply to each.

The cases are invented: their numbers are plausible and were not measured.
"""

CAUSES = {
    "data loading": "the GPU waits for its next batch",
    "emulated BF16": "the GPU has no units for BF16",
    "memory-bound ops": "the time goes into ops that move numbers and compute little",
    "not waited for": "the clock was stopped before the GPU was done",
    "odd sizes": "tensor cores are slow with sizes that are no multiples of 8",
    "old hardware": "the GPU has no tensor cores",
    "small work": "starting the kernels takes longer than computing",
    "TF32 in the baseline": "the FP32 run used tensor cores already",
}

CASES = {
    "A": (
        "An A100, a transformer 4,096 wide. BF16 autocast is 1.5 times as fast as FP32, where the data "
        "sheet's numbers promise 16. Nine tenths of the FP32 step are matrix products. The FP32 script "
        'begins with `torch.set_float32_matmul_precision("high")`. Both scripts time 50 steps and call '
        "`torch.cuda.synchronize()` before each look at the clock."
    ),
    "B": (
        "An L4 (capability 8.9), a transformer 256 wide, batch 64, sequences of 512, trained with AdamW, "
        "TF32 off. A step takes 190 ms in FP32 and 160 ms in BF16; the GPU is busy for 98 % of it in both. "
        "Its matrix products took 40 ms and now take 18 ms. Layer norm, softmax, dropout, GELU, additions "
        "and AdamW took 150 ms and now take 142 ms, nearly all of it in kernels of 0.2 ms and more."
    ),
    "C": (
        "A V100, FP16 with GradScaler, a language model 1,023 wide with a vocabulary of 50,257. The GPU is "
        "busy all the time, nine tenths of it with matrix products. These reach 18 TFLOPS, where another net "
        "on the same card, 1,024 wide, reaches 80."
    ),
    "D": (
        "An A100, three layers `nn.Linear(16, 16)`, batch 16, all data on the GPU, TF32 off. An FP32 step "
        "starts 150 kernels: each computes for 2 µs, then the GPU idles for 5 µs until the next. A BF16 step "
        "starts 210 such kernels, and takes 1.5 ms instead of 1.1 ms."
    ),
    "E": (
        "A T4, a transformer 1,024 wide, sequences of 512. `torch.cuda.is_bf16_supported()` answers True. "
        "Under BF16 autocast a step takes 1.9 times as long as in FP32, under FP16 autocast 0.4 times as "
        "long. The GPU is busy 97 % of the time."
    ),
    "F": (
        "A GTX 1080 (capability 6.1), a transformer 1,024 wide, FP16 with GradScaler. Memory fell by 40 %, "
        "the time of a step by 2 %, measured with synchronisation. The GPU is busy 98 % of the time, 85 % of "
        "it with matrix products."
    ),
}

RIGHT = {
    "A": "TF32 in the baseline",
    "B": "memory-bound ops",
    "C": "odd sizes",
    "D": "small work",
    "E": "emulated BF16",
    "F": "old hardware",
}

# What speaks against each other cause, without the right one.
AGAINST = {
    "A": {
        "data loading": "Nine tenths of the FP32 step are matrix products: the GPU hardly waits.",
        "emulated BF16": "An A100 (capability 8.0) computes in BF16 itself. Emulated, it would be no faster.",
        "memory-bound ops": "Nine tenths of the FP32 step are products 4,096 wide, which compute much.",
        "not waited for": "Both scripts call torch.cuda.synchronize() before each look at the clock.",
        "odd sizes": "4,096 is a multiple of 8, and of 64 too.",
        "old hardware": "An A100 has tensor cores. The 16 times are theirs.",
        "small work": "Products that are 4,096 wide keep a GPU busy for far longer than a start takes.",
    },
    "B": {
        "data loading": "The GPU is busy for 98 % of the step: it hardly waits.",
        "emulated BF16": "An L4 (capability 8.9) computes in BF16 itself: products fell from 40 to 18 ms.",
        "not waited for": "142 ms and 18 ms, what the GPU was busy with, add up to the 160 ms of the step.",
        "odd sizes": "256 and 512 are multiples of 8, and of 64 too.",
        "old hardware": "An L4 (capability 8.9) has tensor cores: products fell from 40 to 18 ms.",
        "small work": "The GPU is busy for 98 % of the step, in kernels of 0.2 ms and more: no pauses.",
        "TF32 in the baseline": "TF32 is off. And products are only 40 of the 190 ms.",
    },
    "C": {
        "data loading": "The GPU is busy all the time: it waits for nothing.",
        "emulated BF16": "This run is in FP16, not in BF16.",
        "memory-bound ops": "Nine tenths of the time are matrix products 1,023 wide, which compute much.",
        "not waited for": "The GPU was busy all the time: the 18 TFLOPS are what its products really reach.",
        "old hardware": "A V100 (capability 7.0) has tensor cores: the other net reaches 80 TFLOPS there.",
        "small work": "The GPU is busy all the time, with products 1,023 wide.",
        "TF32 in the baseline": "A V100 has no TF32, and the 18 TFLOPS are those of the FP16 run.",
    },
    "D": {
        "data loading": "All data lie on the GPU, and the pauses are 5 µs long, one after each kernel.",
        "emulated BF16": "An A100 (capability 8.0) computes in BF16 itself.",
        "memory-bound ops": "While the GPU computes, for 2 µs, memory may be the limit; it idles for 5 µs.",
        "not waited for": "210 kernels, 7 µs from one to the next, are the 1.5 ms: no work is missing in it.",
        "odd sizes": "16 is a multiple of 8.",
        "old hardware": "An A100 has tensor cores.",
        "TF32 in the baseline": "TF32 is off.",
    },
    "E": {
        "data loading": "The GPU is busy 97 % of the time.",
        "memory-bound ops": "Under FP16, which moves as many bytes as BF16, a step takes 0.4 times as long.",
        "not waited for": "Asking takes about as long in every precision. Here it is 1.9 and 0.4 times.",
        "odd sizes": "1,024 and 512 are multiples of 8, and FP16 gains with the same sizes.",
        "old hardware": "A T4 (capability 7.5) has tensor cores: FP16 takes 0.4 times as long.",
        "small work": "The GPU is busy 97 % of the time, and FP16 takes 0.4 times as long.",
        "TF32 in the baseline": "A T4 has no TF32, and FP16 is faster than the same baseline.",
    },
    "F": {
        "data loading": "The GPU is busy 98 % of the time.",
        "emulated BF16": "This run is in FP16, not in BF16.",
        "memory-bound ops": "85 % of the time are matrix products 1,024 wide, which compute much.",
        "not waited for": "The time was measured with synchronisation.",
        "odd sizes": "1,024 is a multiple of 8, and of 64 too.",
        "small work": "The GPU is busy 98 % of the time: it is not waiting for kernels to be started.",
        "TF32 in the baseline": "Only capability 8.0 and later have TF32; this card reports 6.1.",
    },
}
