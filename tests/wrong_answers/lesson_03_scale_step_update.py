# ruff: noqa
# Wrong answers that learners write, each with what the verdict must say. Read as text by the tests.

# %% tell-a-skip: asks-step
# says: You said True after a step that was taken
# mistake: reads-steps-result
def step_and_tell(scaler, optimizer):
    result = scaler.step(optimizer)
    scaler.update()
    return result is None


# %% tell-a-skip: reads-twice-after-update
# says: the scale fell from 65536 (2¹⁶) to 32768 (2¹⁵). You read it only after update()
# mistake: reads-too-late
def step_and_tell(scaler, optimizer):
    scaler.step(optimizer)
    scaler.update()
    before = scaler.get_scale()
    return scaler.get_scale() < before


# %% tell-a-skip: reads-around-step
# says: You read it only before update()
# mistake: reads-too-early
def step_and_tell(scaler, optimizer):
    before = scaler.get_scale()
    scaler.step(optimizer)
    skipped = scaler.get_scale() < before
    scaler.update()
    return skipped


# %% tell-a-skip: any-change
# says: the scale grew from 65536 (2¹⁶) to 131072 (2¹⁷)
# mistake: any-change-is-a-skip
def step_and_tell(scaler, optimizer):
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale() != before


# %% tell-a-skip: says-stepped
# says: You said True after a step that was taken; the scale stayed at 65536 (2¹⁶). True stands for
# mistake: says-it-the-other-way-round
def step_and_tell(scaler, optimizer):
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale() >= before


# %% tell-a-skip: no-update
# says: missing-update
# mistake: missing-update
def step_and_tell(scaler, optimizer):
    before = scaler.get_scale()
    scaler.step(optimizer)
    return scaler.get_scale() < before


# %% tell-a-skip: update-first
# says: : `scaler.update()`
# mistake: update-without-step
def step_and_tell(scaler, optimizer):
    before = scaler.get_scale()
    scaler.update()
    scaler.step(optimizer)
    return scaler.get_scale() < before


# %% tell-a-skip: below-the-start
# says: One reading tells nothing
# mistake: compares-with-a-fixed-number
def step_and_tell(scaler, optimizer):
    scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale() < 65536


# %% tell-a-skip: exactly-a-half
# says: the scale fell from 1024 (2¹⁰) to 256 (2⁸)
# mistake: expects-a-half
def step_and_tell(scaler, optimizer):
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale() == before / 2


# %% tell-a-skip: weights-that-stay
# says: The gradients were 0, so the weights stayed
# mistake: looks-at-the-weights
def step_and_tell(scaler, optimizer):
    weights = [p.detach().clone() for group in optimizer.param_groups for p in group["params"]]
    scaler.step(optimizer)
    scaler.update()
    now = [p for group in optimizer.param_groups for p in group["params"]]
    return all(torch.equal(a, b) for a, b in zip(weights, now))


# %% tell-a-skip: gradients-that-are-inf
# says: This scaler was made with enabled=False
# mistake: forgets-the-disabled-scaler
def step_and_tell(scaler, optimizer):
    bad = any(not p.grad.isfinite().all() for group in optimizer.param_groups for p in group["params"])
    scaler.step(optimizer)
    scaler.update()
    return bad


# %% tell-a-skip: steps-the-optimizer
# says: : `optimizer.step()`
# mistake: bare-optimizer-step
def step_and_tell(scaler, optimizer):
    before = scaler.get_scale()
    optimizer.step()
    scaler.update()
    return scaler.get_scale() < before


# %% tell-a-skip: gives-the-scale
# says: step_and_tell(scaler, optimizer) should be True or False; yours is a float (65536.0)
def step_and_tell(scaler, optimizer):
    scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale()


# %% tell-a-skip: steps-after-unscaling
# says: : `optimizer.step()`
# mistake: steps-past-the-scaler
def step_and_tell(scaler, optimizer):
    before = scaler.get_scale()
    scaler.unscale_(optimizer)
    optimizer.step()
    scaler.update()
    return scaler.get_scale() < before


# %% tell-a-skip: smaller-or-equal
# says: An unchanged scale is no skip
# mistake: unchanged-is-a-skip
def step_and_tell(scaler, optimizer):
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale() <= before


# %% tell-a-skip: updates-to-a-number
# says: update() was given a scale
# mistake: update-sets-the-scale
def step_and_tell(scaler, optimizer):
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update(before)
    return scaler.get_scale() < before


# %% tell-a-skip: reads-the-state
# says: KeyError: 'scale'
# mistake: needs-an-enabled-scaler
def step_and_tell(scaler, optimizer):
    before = scaler.state_dict()["scale"]
    scaler.step(optimizer)
    scaler.update()
    return scaler.state_dict()["scale"] < before


# %% tell-a-skip: a-generator
# says: It holds a `yield`
# mistake: yields
def step_and_tell(scaler, optimizer):
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    yield scaler.get_scale() < before


# %% order-the-calls: clips-first
# says: : `nn.utils.clip_grad_norm_(model.parameters(), max_norm)`
# mistake: clip-before-unscale
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: unscales-for-each-group
# says: unscale-twice
# mistake: unscale-twice
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    for layer in (model[0], model[2]):
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(layer.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: updates-twice
# says: update-without-step
# mistake: update-without-step
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    scaler.update()
    return loss


# %% order-the-calls: never-updates
# says: : `scaler.unscale_(optimizer)`
# mistake: missing-update
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    return loss


# %% order-the-calls: clears-the-gradients-too-late
# says: no-gradients
# mistake: no-gradients
def train_step(model, optimizer, scaler, x, y, max_norm):
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    optimizer.zero_grad()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: steps-on-scaled-gradients
# says: : `optimizer.step()`
# mistake: bare-optimizer-step
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    optimizer.step()
    scaler.update()
    return loss


# %% order-the-calls: unscales-then-steps-by-itself
# says: : `optimizer.step()`
# mistake: steps-past-the-scaler
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    scaler.update()
    return loss


# %% order-the-calls: steps-with-both
# says: : `optimizer.step()`
# mistake: stepped-twice
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    optimizer.step()
    scaler.update()
    return loss


# %% order-the-calls: does-not-scale
# says: : `loss.backward()`
# mistake: unscaled-backward
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    loss.backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: both-backwards
# says: : `loss.backward(retain_graph=True)`
# mistake: mixed-scaling-in-window
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    loss.backward(retain_graph=True)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: never-clears-the-gradients
# says: : `scaler.scale(loss).backward()`
# mistake: gradients-not-zeroed
def train_step(model, optimizer, scaler, x, y, max_norm):
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: unscales-before-the-last-backward
# says: backward-after-unscale
# mistake: backward-after-unscale
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    half = len(x) // 2
    for part in (slice(0, half), slice(half, None)):
        with torch.autocast(device_type=x.device.type, dtype=torch.float16):
            loss = F.mse_loss(model(x[part]), y[part]) / 2
        scaler.scale(loss).backward()
        if part.start == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: everything-in-the-block
# says: : `scaler.scale(loss).backward()`
# mistake: backward-inside-autocast
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
    return loss


# %% order-the-calls: the-step-in-the-block
# says: : `scaler.step(optimizer)`
# mistake: step-inside-autocast
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
        with torch.autocast(device_type=x.device.type, enabled=False):
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: hard-coded-cuda
# says: autocast-wrong-device
# mistake: autocast-wrong-device
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: no-dtype
# says: scaler-with-bf16
# mistake: scaler-with-bf16
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(x.device.type):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: no-scaler
# says: : `loss.backward()`
# mistake: fp16-without-scaler
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss


# %% order-the-calls: half-model
# says: half-parameters-with-scaler
# mistake: half-parameters-with-scaler
def train_step(model, optimizer, scaler, x, y, max_norm):
    model.half()
    optimizer.zero_grad()
    loss = F.mse_loss(model(x.half()), y.half())
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: squares-in-half
# says: forward-overflow, cell 1, line 5: `scaler.scale(loss)
# mistake: forward-overflow
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = ((model(x) - y.half()) ** 2).float().mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: loss-outside-the-block
# says: loss-outside-autocast, cell 1, line 6: `scaler.scale(loss).backward()`
# mistake: loss-outside-autocast
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        out = model(x)
    loss = F.mse_loss(out, y.to(out.dtype))
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: last-layer-outside-the-block
# says: : `out = model[2](hidden)`
# mistake: dtype-mismatch
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        hidden = model[1](model[0](x))
    out = model[2](hidden)
    loss = F.mse_loss(out, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: passes-a-closure
# says: : `scaler.step(optimizer, lambda: loss)`
# mistake: closure-with-scaler
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer, lambda: loss)
    scaler.update()
    return loss


# %% order-the-calls: updates-between-backward-and-step
# says: scale-changed-in-window
# mistake: scale-changed-in-window
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.update(64.0)
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: gives-the-scaled-loss
# says: In call 1 you returned 1344
# mistake: returns-the-scaled-loss
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    loss = scaler.scale(loss)
    loss.backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: divides-by-the-next-scale
# says: : `return scaled / scaler.get_scale()`
# mistake: scale-read-after-update
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaled = scaler.scale(loss)
    scaled.backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return scaled / scaler.get_scale()


# %% order-the-calls: no-autocast
# says: torch.float32
# mistake: no-autocast
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: no-clipping
# says: Nothing clips it
# mistake: never-clips
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: clips-last
# says: You clip too late: clip_grad_norm_
# mistake: clips-after-the-step
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.update()
    return loss


# %% order-the-calls: clips-values
# says: clip_grad_value_
# mistake: clips-something-else
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_value_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: a-scaler-of-its-own
# says: Use the scaler that train_step is given
# mistake: makes-its-own-scaler
def train_step(model, optimizer, scaler, x, y, max_norm):
    scaler = torch.amp.GradScaler(x.device.type, init_scale=1024.0)
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: another-loss
# says: Return F.mse_loss(model(x), y)
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.l1_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: gradients-of-zero
# says: the weights are elsewhere than they should be: they moved by 0,
def train_step(model, optimizer, scaler, x, y, max_norm):
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    optimizer.zero_grad(set_to_none=False)
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: updates-to-the-scale
# says: : `scaler.update(scaler.get_scale())`
# mistake: update-sets-the-scale
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update(scaler.get_scale())
    return loss


# %% order-the-calls: grows-after-every-step
# says: After call 1 the scaler's scale is 2048 (2¹¹) and its count of good steps 0
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.set_growth_interval(1)
    scaler.update()
    return loss


# %% order-the-calls: removes-the-inf
# says: In call 2 the gradients overflow, and the step has to be skipped; yours stepped
# mistake: steps-on-an-overflow
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    for p in model.parameters():
        p.grad.nan_to_num_(0.0, 0.0, 0.0)
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: names-the-cpu
# says: train_step names the device itself: "cpu"
# mistake: cpu-hard-coded
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: divides-by-hand
# says: 1024 times too small
# mistake: divided-twice
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    for p in model.parameters():
        p.grad /= scaler.get_scale()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: clips-at-one
# says: You clip at 1, and max_norm is 10
# mistake: another-limit
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: a-generator
# says: It holds a `yield`
# mistake: yields
def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    yield loss


# %% order-the-calls: an-async-function
# says: It is an `async` function
# mistake: async
async def train_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% order-the-calls: to-cuda
# says: The check's tensors are on the CPU, on every machine: leave them there
def train_step(model, optimizer, scaler, x, y, max_norm):
    x, y = x.to("cuda"), y.to("cuda")
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% unscale-and-look: multiplies
# says: is [1048576.0, -524288.0] afterwards
# mistake: multiplies-by-the-scale
def unscale_and_look(optimizer, scale):
    found = False
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad *= scale
                found |= not p.grad.isfinite().all()
    return found


# %% unscale-and-look: the-weights
# says: they are [0.0009765625, 0.0009765625] now
# mistake: divides-the-weights
def unscale_and_look(optimizer, scale):
    found = False
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.data /= scale
            if p.grad is not None:
                found |= not p.grad.isfinite().all()
    return found


# %% unscale-and-look: loses-the-quotient
# says: It has not changed
# mistake: divides-a-copy
def unscale_and_look(optimizer, scale):
    found = False
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                gradient = p.grad / scale
                found |= not gradient.isfinite().all()
    return found


# %% unscale-and-look: says-all-is-well
# says: You said True, and every gradient is finite
# mistake: says-it-the-other-way-round
def unscale_and_look(optimizer, scale):
    fine = True
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad /= scale
                fine &= p.grad.isfinite().all().item()
    return fine


# %% unscale-and-look: first-group
# says: a later .grad is still [4.0]
# mistake: only-the-first-group
def unscale_and_look(optimizer, scale):
    found = False
    for p in optimizer.param_groups[0]["params"]:
        if p.grad is not None:
            p.grad /= scale
            found |= not p.grad.isfinite().all()
    return found


# %% unscale-and-look: no-gradient
# says: NoneType
# mistake: trips-over-none
def unscale_and_look(optimizer, scale):
    found = False
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad /= scale
            found |= not p.grad.isfinite().all()
    return found


# %% unscale-and-look: only-nan
# says: You said False for the gradients [1.0, inf], [2.0]
# mistake: misses-inf
def unscale_and_look(optimizer, scale):
    found = False
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad /= scale
                found |= p.grad.isnan().any()
    return found


# %% unscale-and-look: only-inf
# says: You said False for the gradients [1.0, nan], [2.0]
# mistake: misses-nan
def unscale_and_look(optimizer, scale):
    found = False
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad /= scale
                found |= p.grad.isinf().any()
    return found


# %% unscale-and-look: plus-infinity
# says: You said False for the gradients [-inf, 1.0]
# mistake: misses-minus-infinity
def unscale_and_look(optimizer, scale):
    found = False
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad /= scale
                found |= bool((p.grad == float("inf")).any() or p.grad.isnan().any())
    return found


# %% unscale-and-look: forgets-what-it-found
# says: You said False for the gradients [inf]
# mistake: only-the-last-gradient
def unscale_and_look(optimizer, scale):
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad /= scale
                found = not p.grad.isfinite().all()
                latest = p.grad
    latest = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if not latest:
        return False
    return not latest[-1].isfinite().all() or (len(latest[0]) > 1 and not latest[0].isfinite().all())


# %% unscale-and-look: returns-at-the-first
# says: Afterwards the second is [2048.0], not [2.0]
# mistake: stops-at-the-first-inf
def unscale_and_look(optimizer, scale):
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad /= scale
                if not p.grad.isfinite().all():
                    return True
    return False


# %% unscale-and-look: the-largest-fp16
# says: You said True for the gradients [1000000.0, -1000000000000000.0], [70000.0]
# mistake: compares-with-fp16s-limit
def unscale_and_look(optimizer, scale):
    found = False
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                found |= bool(not p.grad.abs().max() < 65504)
                p.grad /= scale
    return found


# %% unscale-and-look: looks-at-the-sum
# says: only their sum is not
# mistake: looks-at-the-sum
def unscale_and_look(optimizer, scale):
    found = False
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                found |= not p.grad.sum().isfinite()
                p.grad /= scale
    return found


# %% unscale-and-look: asks-gradscaler
# says: torch.amp.GradScaler is not allowed in this exercise
# mistake: uses-gradscaler
def unscale_and_look(optimizer, scale):
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    scaler.scale(torch.zeros(()))
    scaler.unscale_(optimizer)
    return sum(scaler._found_inf_per_device(optimizer).values()) > 0


# %% unscale-and-look: returns-nothing
# says: unscale_and_look(optimizer, 1024) is None
def unscale_and_look(optimizer, scale):
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad /= scale


# %% unscale-and-look: cleans-up
# says: The inf is gone
# mistake: removes-the-inf
def unscale_and_look(optimizer, scale):
    found = False
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad /= scale
                found |= not p.grad.isfinite().all()
                p.grad.nan_to_num_(0.0, 0.0, 0.0)
    return found


# %% skip-or-step: never-unscales
# says: a step of 8 times the size
# mistake: steps-on-scaled-gradients
def skip_or_step(optimizer, scale):
    gradients = [p.grad for group in optimizer.param_groups for p in group["params"]]
    found = not all(gradient.isfinite().all() for gradient in gradients)
    if not found:
        optimizer.step()
    return found


# %% skip-or-step: looks-twice
# says: yours are [0.9375, 1.125] afterwards
# mistake: unscales-twice
def skip_or_step(optimizer, scale):
    if not unscale_and_look(optimizer, scale):
        if not unscale_and_look(optimizer, scale):
            optimizer.step()
            return False
    return True


# %% skip-or-step: always-steps
# says: the weights went from [1, 1] to
# mistake: steps-on-inf
def skip_or_step(optimizer, scale):
    found = unscale_and_look(optimizer, scale)
    optimizer.step()
    return found


# %% skip-or-step: the-other-way-round
# says: not stepped
# mistake: never-steps
def skip_or_step(optimizer, scale):
    found = unscale_and_look(optimizer, scale)
    if found:
        optimizer.step()
    return found


# %% skip-or-step: says-stepped
# says: You said True after a step that was taken
# mistake: says-it-the-other-way-round
def skip_or_step(optimizer, scale):
    if unscale_and_look(optimizer, scale):
        return False
    optimizer.step()
    return True


# %% skip-or-step: always-says-false
# says: You said False after a skipped step
# mistake: hides-the-skip
def skip_or_step(optimizer, scale):
    if not unscale_and_look(optimizer, scale):
        optimizer.step()
    return False


# %% skip-or-step: gradients-of-zero
# says: Adam moved the weights
# mistake: moves-on-a-skip
def skip_or_step(optimizer, scale):
    found = unscale_and_look(optimizer, scale)
    if found:
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.grad.zero_()
    optimizer.step()
    return found


# %% skip-or-step: puts-the-weights-back
# says: Adam's count of steps went from 1 to 2
# mistake: changes-the-state-on-a-skip
def skip_or_step(optimizer, scale):
    found = unscale_and_look(optimizer, scale)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    before = [p.detach().clone() for p in parameters]
    optimizer.step()
    if found:
        with torch.no_grad():
            for p, old in zip(parameters, before):
                p.copy_(old)
    return found


# %% skip-or-step: steps-in-both
# says: two steps
# mistake: steps-twice
def skip_or_step(optimizer, scale):
    found = unscale_and_look(optimizer, scale)
    if not found:
        optimizer.step()
        optimizer.step()
    return found


# %% skip-or-step: asks-gradscaler
# says: torch.amp.GradScaler is not allowed
# mistake: uses-gradscaler
def skip_or_step(optimizer, scale):
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    scaler.scale(torch.zeros(()))
    scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale() < scale


# %% skip-or-step: returns-nothing
# says: skip_or_step(optimizer, 8) is None
def skip_or_step(optimizer, scale):
    if not unscale_and_look(optimizer, scale):
        optimizer.step()


# %% skip-or-step: moves-the-weights
# says: Only optimizer.step() moves them right for every optimizer
# mistake: moves-the-weights-itself
def skip_or_step(optimizer, scale):
    found = unscale_and_look(optimizer, scale)
    if not found:
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.data -= group["lr"] * p.grad
    return found


# %% skip-or-step: steps-without-gradients
# says: optimizer.step() was called all the same
# mistake: steps-on-a-skip
def skip_or_step(optimizer, scale):
    found = unscale_and_look(optimizer, scale)
    if found:
        optimizer.zero_grad(set_to_none=True)
    optimizer.step()
    return found


# %% grow-and-back-off: compares-before-counting
# says: grow_and_back_off(1024, 2, False, 3) should be (2048, 0); yours is (1024, 3)
# mistake: grows-one-late
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    if found_inf:
        return scale / 2, 0
    if good_steps >= growth_interval:
        return scale * 2, 0
    return scale, good_steps + 1


# %% grow-and-back-off: one-too-few
# says: yours is (2048, 0). This is the second good step
# mistake: grows-one-early
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    if found_inf:
        return scale / 2, 0
    good_steps += 1
    if good_steps >= growth_interval - 1:
        return scale * 2, 0
    return scale, good_steps


# %% grow-and-back-off: counts-on
# says: should be (2048, 0); yours is (2048, 3)
# mistake: forgets-to-reset-after-growth
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    if found_inf:
        return scale / 2, 0
    good_steps += 1
    if good_steps % growth_interval == 0:
        scale *= 2
    return scale, good_steps


# %% grow-and-back-off: the-count-survives
# says: should be (512, 0); yours is (512, 2)
# mistake: keeps-the-count
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    if found_inf:
        return scale / 2, good_steps
    good_steps += 1
    if good_steps == growth_interval:
        return scale * 2, 0
    return scale, good_steps


# %% grow-and-back-off: counts-every-step
# says: should be (512, 0); yours is (512, 3)
# mistake: counts-the-overflow
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    good_steps += 1
    if found_inf:
        return scale / 2, good_steps
    if good_steps == growth_interval:
        return scale * 2, 0
    return scale, good_steps


# %% grow-and-back-off: grows-each-time
# says: yours is (2048, 0). Only growth_interval good steps
# mistake: grows-at-every-step
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    return (scale / 2, 0) if found_inf else (scale * 2, 0)


# %% grow-and-back-off: two-thousand
# says: yours is (8, 1). The interval is the last argument, here 1
# mistake: ignores-the-interval
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    if found_inf:
        return scale / 2, 0
    good_steps += 1
    if good_steps == 3 or good_steps == 2000:
        return scale * 2, 0
    return scale, good_steps


# %% grow-and-back-off: never-counts
# says: yours is (1024, 0). A good step counts
# mistake: forgets-to-count
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    if found_inf:
        return scale / 2, 0
    if good_steps + 1 == growth_interval:
        return scale * 2, 0
    return scale, good_steps


# %% grow-and-back-off: turned-round
# says: yours is (512, 0). That is what an overflow does
# mistake: the-other-way-round
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    if not found_inf:
        return scale / 2, 0
    good_steps += 1
    if good_steps == growth_interval:
        return scale * 2, 0
    return scale, good_steps


# %% grow-and-back-off: a-floor-at-one
# says: should be (0.5, 0); yours is (1, 0)
# mistake: stops-at-one
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    if found_inf:
        return max(scale / 2, 1.0), 0
    good_steps += 1
    if good_steps == growth_interval:
        return scale * 2, 0
    return scale, good_steps


# %% grow-and-back-off: both-in-turn
# says: should be (512, 0); yours is (1024, 0)
# mistake: grows-and-backs-off
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    good_steps += 1
    if found_inf:
        scale /= 2
    if good_steps == growth_interval:
        scale, good_steps = scale * 2, 0
    return scale, 0 if found_inf else good_steps


# %% grow-and-back-off: a-tenth
# says: should be (512, 0); yours is (102.4, 0)
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    if found_inf:
        return scale / 10, 0
    good_steps += 1
    if good_steps == growth_interval:
        return scale * 2, 0
    return scale, good_steps


# %% grow-and-back-off: only-the-scale
# says: should be (scale, good_steps); yours is a float (1024.0)
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    if found_inf:
        return scale / 2
    return scale * 2 if good_steps + 1 == growth_interval else scale


# %% grow-and-back-off: a-cap
# says: should be (2**31, 0); yours is (2**24, 0)
# mistake: caps-the-scale
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    if found_inf:
        return scale / 2, 0
    good_steps += 1
    if good_steps == growth_interval:
        return min(scale * 2, 2.0**24), 0
    return scale, good_steps


# %% grow-and-back-off: a-lower-floor
# says: should be (2**-11, 0); yours is (0.5, 0)
# mistake: has-a-floor
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    if found_inf:
        return max(scale / 2, 0.5), 0
    good_steps += 1
    if good_steps == growth_interval:
        return scale * 2, 0
    return scale, good_steps


# %% grow-and-back-off: the-count-first
# says: The scale comes first
# mistake: swaps-the-two
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    if found_inf:
        return 0, scale / 2
    good_steps += 1
    return (0, scale * 2) if good_steps == growth_interval else (good_steps, scale)


# %% grow-and-back-off: yields
# says: It holds a `yield`
# mistake: yields
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    yield scale / 2 if found_inf else scale
    yield 0 if found_inf else good_steps + 1
