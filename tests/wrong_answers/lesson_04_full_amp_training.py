# ruff: noqa
# Wrong answers that learners write, each with what the verdict must say. Read as text by the tests.

# %% convert-the-loop: as-it-was
# says: line 6: `loss.backward()`
# mistake: still-fp32
def train(model, optimizer, batches):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: nothing-yet
# says: train ran no forward pass of the model: none of 22
def train(model, optimizer, batches):
    losses = []
    for x, y in batches:
        losses.append(0.0)
    return losses


# %% convert-the-loop: scaler-only
# says: line 7: `scaler.scale(loss).backward()`
# mistake: no-autocast
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: no-scaler
# says: line 7: `loss.backward()`
# mistake: fp16-without-scaler
def train(model, optimizer, batches):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: plain-backward
# says: line 8: `loss.backward()`
# mistake: unscaled-backward
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: plain-step
# says: line 10: `optimizer.step()`
# mistake: bare-optimizer-step
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: both-steps
# says: line 12: `optimizer.step()`
# mistake: stepped-twice
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        optimizer.step()
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: no-update
# says: line 9: `scaler.unscale_(optimizer)`
# mistake: missing-update
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        losses.append(loss.item())
    return losses


# %% convert-the-loop: two-updates
# says: line 13: `scaler.update()`
# mistake: update-without-step
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: no-zero-grad
# says: line 7: `scaler.scale(loss).backward()`
# mistake: gradients-not-zeroed
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: zero-grad-too-late
# says: line 11: `scaler.step(optimizer)`
# mistake: no-gradients
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        optimizer.zero_grad()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: clips-scaled-gradients
# says: line 9: `nn.utils.clip_grad_norm_
# mistake: clip-before-unscale
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: unscales-after-clipping
# says: line 9: `nn.utils.clip_grad_norm_
# mistake: unscale-after-clip
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: does-not-clip
# says: line 9: `scaler.step(optimizer)`
# mistake: forgets-the-clip
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: clips-at-the-scale
# says: line 10: `nn.utils.clip_grad_norm_
# mistake: clips-by-scaled-limit
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0 * scaler.get_scale())
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: clips-after-the-step
# says: line 10: `nn.utils.clip_grad_norm_
# mistake: clip-after-step
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: clips-the-entries
# says: line 10: `nn.utils.clip_grad_value_
# mistake: clips-by-value
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: clips-each-layer
# says: line 11: `nn.utils.clip_grad_norm_
# mistake: clips-something-else
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        for layer in model:
            nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: divides-by-hand
# says: line 12: `scaler.step(optimizer)`
# mistake: divided-twice
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        for parameter in model.parameters():
            parameter.grad /= scaler.get_scale()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: plain-step-after-all
# says: line 11: `optimizer.step()`
# mistake: steps-past-the-scaler
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: unscales-twice
# says: line 11: `scaler.unscale_(optimizer)`
# mistake: unscale-twice
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: backward-in-the-block
# says: line 8: `scaler.scale(loss).backward()`
# mistake: backward-inside-autocast
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: one-block-around-all
# says: line 11: `scaler.step(optimizer)`
# mistake: step-inside-autocast
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    with torch.autocast(batches[0][0].device.type, dtype=torch.float16):
        for x, y in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
    return losses


# %% convert-the-loop: a-penalty-of-its-own
# says: line 9: `model[0].weight.square().mean().backward()`
# mistake: mixed-scaling-in-window
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        model[0].weight.square().mean().backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: a-weighted-penalty-of-its-own
# says: line 9: `(16.0 * model[0].weight.square().mean()).backward()`
# mistake: not-every-backward-scaled
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        (16.0 * model[0].weight.square().mean()).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: update-before-step
# says: line 10: `scaler.unscale_(optimizer)`
# mistake: scale-changed-in-window
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.update(1024.0)
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: unscales-too-early
# says: line 10: `scaler.scale(0.1 * loss).backward()`
# mistake: backward-after-unscale
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(0.9 * loss).backward(retain_graph=True)
        scaler.unscale_(optimizer)
        scaler.scale(0.1 * loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: with-a-closure
# says: line 11: `scaler.step(optimizer, lambda: loss)`
# mistake: closure-with-scaler
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer, lambda: loss)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: scheduler-on-a-skip
# says: line 14: `schedule.step()`
# mistake: scheduler-on-skipped-step
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: half-model
# says: line 10: `scaler.unscale_(optimizer)`
# mistake: half-parameters-with-scaler
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    model.half()
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: half-model-alone
# says: line 2: `model.half()`
# mistake: model-made-half
def train(model, optimizer, batches):
    model.half()
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.half()), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: half-model-meets-fp32
# says: line 7: `loss = F.cross_entropy(model(x), y)`
# mistake: dtype-mismatch
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    model.half()
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: cuda-in-autocast
# says: line 6: `with torch.autocast("cuda", dtype=torch.float16):`
# mistake: autocast-wrong-device
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: cuda-in-scaler
# says: line 2: `scaler = torch.amp.GradScaler("cuda")`
# mistake: scaler-for-another-device
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: cpu-in-both
# says: train names the device itself: "cpu"
# mistake: cpu-hard-coded
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cpu")
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: a-number-for-the-scaler
# says: you gave 1024.0
# mistake: number-as-the-scalers-device
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(1024.0)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: scaler-switched-off
# says: line 2: `scaler = torch.amp.GradScaler("cpu", enabled=False)`
# mistake: scaler-disabled
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: autocast-switched-off
# says: line 6: `with torch.autocast(x.device.type, dtype=torch.float16, enabled=False):`
# mistake: autocast-disabled
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16, enabled=False):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: no-dtype
# says: line 6: `with torch.autocast(x.device.type):`
# mistake: autocast-default-dtype
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: bf16-and-scaler
# says: line 8: `scaler.scale(loss).backward()`
# mistake: scaler-with-bf16
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: bf16-alone
# says: line 5: `with torch.autocast(x.device.type, dtype=torch.bfloat16):`
# mistake: bf16-not-fp16
def train(model, optimizer, batches):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: scaled-by-hand
# says: line 7: `(1024 * loss).backward()`
# mistake: no-gradscaler
def train(model, optimizer, batches):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        (1024 * loss).backward()
        for parameter in model.parameters():
            parameter.grad /= 1024
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: new-scaler-every-step
# says: line 7: `scaler = torch.amp.GradScaler(x.device.type)`
# mistake: scaler-inside-the-loop
def train(model, optimizer, batches):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler = torch.amp.GradScaler(x.device.type)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: loss-after-the-block
# says: line 9: `scaler.scale(loss).backward()`
# mistake: loss-outside-autocast
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            out = model(x)
        loss = F.cross_entropy(out, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: first-layer-only
# says: line 6: `with torch.autocast(x.device.type, dtype=torch.float16):`
# mistake: some-products-in-fp32
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            h = model[0](x)
        loss = F.cross_entropy(model[2](model[1](h.float())), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: steps-every-other-batch
# says: line 11: `scaler.step(optimizer)`
# mistake: not-every-batch-steps
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for i, (x, y) in enumerate(batches):
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss / 2).backward()
        if i % 2:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: device-object
# says: ValueError: Expected `device_type` of type `str`
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: scaled-losses
# says: Yours is about 65536 times as large
# mistake: scaled-loss-in-the-list
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        loss = scaler.scale(loss)
        loss.backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: divides-by-the-next-scale
# says: It is twice as large
# mistake: scale-read-after-update
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaled = scaler.scale(loss)
        scaled.backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(scaled.item() / scaler.get_scale())
    return losses


# %% convert-the-loop: last-loss-only
# says: What train(...) returns should be a list; yours is a float
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses[-1]


# %% convert-the-loop: no-return
# says: train(...) is None. Is there a `return losses` missing?
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())


# %% convert-the-loop: tight-clipping
# says: You clip at 0.01, the script at 1.
# mistake: another-limit
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: decays-the-weights
# says: Seed 1: after 40 steps your model's loss is
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter *= 0.98
        losses.append(loss.item())
    return losses


# %% convert-the-loop: running-mean
# says: Loss 1 of your list is 19.785; the model's is 0.69798
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    total = 0.0
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
        losses.append(total / (len(losses) + 1))
    return losses


# %% convert-the-loop: update-with-the-scale
# says: line 12: `scaler.update(scaler.get_scale())`
# mistake: update-sets-the-scale
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update(scaler.get_scale())
        losses.append(loss.item())
    return losses


# %% convert-the-loop: repairs-the-gradients
# says: Something removed the inf before
# mistake: hides-the-overflow
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        for parameter in model.parameters():
            parameter.grad.nan_to_num_(0.0, 0.0, 0.0)
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: forward-for-show
# says: Of 22 matrix products in FP16 backward went through 0
# mistake: loss-of-something-else
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            model(x)
        h = F.relu(F.linear(x, model[0].weight, model[0].bias))
        loss = F.cross_entropy(F.linear(h, model[2].weight, model[2].bias), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: returns-in-the-loop
# says: train used 1 of 11 batches.
# mistake: not-every-batch
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        return losses


# %% convert-the-loop: an-optimizer-of-its-own
# says: The optimizer that train is given took no step
# mistake: another-optimizer
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


# %% convert-the-loop: a-generator
# says: Calling train(...) runs none of its lines
# mistake: only-runs-later
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        yield loss.item()


# %% convert-the-loop: one-loss-for-all
# says: Loss 1 of your list is 0.87659; the model's is 0.69798
def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler(batches[0][0].device.type)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return [losses[0]] + [losses[-1]] * (len(losses) - 1)


# %% any-device: bf16-on-every-gpu
# says: For a T4 you chose bfloat16 without a scaler. Its capability is 7.5
# mistake: bf16-emulated-on-t4
def amp_settings(machine):
    if machine["device"] == "cuda":
        return "cuda", torch.bfloat16, False
    return "cpu", torch.bfloat16 if machine["fast_bf16"] else torch.float32, False


# %% any-device: fp16-on-every-gpu
# says: For an A100 you chose float16 with a scaler. That works. But its capability is 8.0
# mistake: fp16-where-bf16-is-native
def amp_settings(machine):
    if machine["device"] == "cuda":
        return "cuda", torch.float16, True
    return "cpu", torch.bfloat16 if machine["fast_bf16"] else torch.float32, False


# %% any-device: always-a-scaler
# says: For an A100 you chose bfloat16 with a scaler
# mistake: scaler-with-bf16
def amp_settings(machine):
    if machine["device"] == "cuda":
        return "cuda", torch.bfloat16 if machine["capability"] >= (8, 0) else torch.float16, True
    return "cpu", torch.bfloat16 if machine["fast_bf16"] else torch.float32, True


# %% any-device: never-a-scaler
# says: For a T4 you chose float16 without a scaler
# mistake: fp16-without-scaler
def amp_settings(machine):
    if machine["device"] == "cuda":
        return "cuda", torch.bfloat16 if machine["capability"] >= (8, 0) else torch.float16, False
    return "cpu", torch.bfloat16 if machine["fast_bf16"] else torch.float32, False


# %% any-device: fp32-without-tensor-cores
# says: For a P100 you chose float32 without a scaler
# mistake: gpu-in-fp32
def amp_settings(machine):
    if machine["device"] == "cpu":
        return "cpu", torch.bfloat16 if machine["fast_bf16"] else torch.float32, False
    if machine["capability"] >= (8, 0):
        return "cuda", torch.bfloat16, False
    if machine["capability"] >= (7, 0):
        return "cuda", torch.float16, True
    return "cuda", torch.float32, False


# %% any-device: fp16-on-a-cpu
# says: For a CPU without BF16 instructions you chose float16 with a scaler
# mistake: fp16-on-cpu
def amp_settings(machine):
    if machine["fast_bf16"] or machine["device"] == "cuda" and machine["capability"] >= (8, 0):
        return machine["device"], torch.bfloat16, False
    return machine["device"], torch.float16, True


# %% any-device: bf16-where-it-is-not-known
# says: For a CPU of which nothing is known you chose bfloat16
# mistake: bf16-on-any-cpu
def amp_settings(machine):
    if machine["device"] == "cuda":
        native = machine["capability"] >= (8, 0)
    else:
        native = machine["fast_bf16"] is not False
    if native:
        return machine["device"], torch.bfloat16, False
    half = machine["device"] == "cuda"
    return machine["device"], torch.float16 if half else torch.float32, half


# %% any-device: cpus-in-fp32
# says: For a CPU with BF16 instructions you chose float32
# mistake: cpu-bf16-unused
def amp_settings(machine):
    if machine["device"] == "cpu":
        return "cpu", torch.float32, False
    native = machine["capability"] >= (8, 0)
    return "cuda", torch.bfloat16 if native else torch.float16, not native


# %% any-device: a-scaler-for-what-is-not-bf16
# says: For a CPU without BF16 instructions you chose float32 with a scaler
# mistake: scaler-with-fp32
def amp_settings(machine):
    native = machine["fast_bf16"] if machine["device"] == "cpu" else machine["capability"] >= (8, 0)
    if native:
        return machine["device"], torch.bfloat16, False
    return machine["device"], torch.float16 if machine["device"] == "cuda" else torch.float32, True


# %% any-device: no-return
# says: it is None. Is there a `return` missing?
def amp_settings(machine):
    dtype = torch.bfloat16 if machine["fast_bf16"] else torch.float16
    settings = machine["device"], dtype, True


# %% any-device: always-cuda
# says: For a CPU with BF16 instructions you gave the device type 'cuda'
# mistake: another-device
def amp_settings(machine):
    if machine["fast_bf16"] or (machine["capability"] or (0, 0)) >= (8, 0):
        return "cuda", torch.bfloat16, False
    return "cuda", torch.float16, True


# %% any-device: compares-with-none
# says: TypeError: '>=' not supported between instances of 'NoneType' and 'tuple'
def amp_settings(machine):
    if machine["capability"] >= (8, 0) or machine["fast_bf16"]:
        return machine["device"], torch.bfloat16, False
    return machine["device"], torch.float16, machine["device"] == "cuda"


# %% any-device: a-name-for-the-dtype
# says: should be a torch dtype, such as torch.float16; yours is a str ('bfloat16')
def amp_settings(machine):
    native = machine["fast_bf16"] or (machine["capability"] or (0, 0)) >= (8, 0)
    return machine["device"], "bfloat16" if native else "float16", not native


# %% resume-exactly: no-scaler
# says: the scale restarts at 65536; uninterrupted it was 1024
# mistake: resume-without-scaler-state
def save_checkpoint(path, model, optimizer, scaler):
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "random": torch.get_rng_state(),
    }
    torch.save(checkpoint, path)


def load_checkpoint(path, model, optimizer, scaler):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    torch.set_rng_state(checkpoint["random"])


# %% resume-exactly: no-optimizer
# says: Adam has counted 0 steps; when you saved it had counted
# mistake: forgets-the-optimizer
def save_checkpoint(path, model, optimizer, scaler):
    checkpoint = {
        "model": model.state_dict(),
        "scaler": scaler.state_dict(),
        "random": torch.get_rng_state(),
    }
    torch.save(checkpoint, path)


def load_checkpoint(path, model, optimizer, scaler):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    scaler.load_state_dict(checkpoint["scaler"])
    torch.set_rng_state(checkpoint["random"])


# %% resume-exactly: no-random-state
# says: Save torch.get_rng_state(), and give it to torch.set_rng_state()
# mistake: forgets-the-random-state
def save_checkpoint(path, model, optimizer, scaler):
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
    }
    torch.save(checkpoint, path)


def load_checkpoint(path, model, optimizer, scaler):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])


# %% resume-exactly: a-seed-instead
# says: Torch's random state was set, but not to what it was
# mistake: seeds-again
def save_checkpoint(path, model, optimizer, scaler):
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "random": torch.initial_seed(),
    }
    torch.save(checkpoint, path)


def load_checkpoint(path, model, optimizer, scaler):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])
    torch.manual_seed(checkpoint["random"])


# %% resume-exactly: into-a-new-model
# says: The model still is as it was made
# mistake: loads-into-another-model
def save_checkpoint(path, model, optimizer, scaler):
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "random": torch.get_rng_state(),
    }
    torch.save(checkpoint, path)


def load_checkpoint(path, model, optimizer, scaler):
    checkpoint = torch.load(path)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])
    torch.set_rng_state(checkpoint["random"])


# %% resume-exactly: whole-objects
# says: torch.load refuses your file (it holds torch.nn.modules.container.Sequential)
# mistake: pickles-whole-objects
def save_checkpoint(path, model, optimizer, scaler):
    torch.save((model, optimizer, scaler, torch.get_rng_state()), path)


def load_checkpoint(path, model, optimizer, scaler):
    saved_model, saved_optimizer, saved_scaler, random = torch.load(path, weights_only=False)
    model.load_state_dict(saved_model.state_dict())
    optimizer.load_state_dict(saved_optimizer.state_dict())
    scaler.load_state_dict(saved_scaler.state_dict())
    torch.set_rng_state(random)


# %% resume-exactly: weights-in-fp16
# says: It was rounded on the way
# mistake: saves-rounded-weights
def save_checkpoint(path, model, optimizer, scaler):
    checkpoint = {
        "model": {name: weight.half() for name, weight in model.state_dict().items()},
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "random": torch.get_rng_state(),
    }
    torch.save(checkpoint, path)


def load_checkpoint(path, model, optimizer, scaler):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])
    torch.set_rng_state(checkpoint["random"])


# %% resume-exactly: halves-the-model
# says: save_checkpoint changed the model's weights
# mistake: saving-changes-the-run
def save_checkpoint(path, model, optimizer, scaler):
    model.half()
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "random": torch.get_rng_state(),
    }
    torch.save(checkpoint, path)


def load_checkpoint(path, model, optimizer, scaler):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])
    torch.set_rng_state(checkpoint["random"])


# %% resume-exactly: only-the-scale
# says: the scaler has counted 0 good steps
# mistake: forgets-the-growth-tracker
def save_checkpoint(path, model, optimizer, scaler):
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.get_scale(),
        "random": torch.get_rng_state(),
    }
    torch.save(checkpoint, path)


def load_checkpoint(path, model, optimizer, scaler):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict({**scaler.state_dict(), "scale": checkpoint["scaler"]})
    torch.set_rng_state(checkpoint["random"])


# %% resume-exactly: a-name-of-its-own
# says: its folder holds model.pt
# mistake: ignores-the-path
def save_checkpoint(path, model, optimizer, scaler):
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "random": torch.get_rng_state(),
    }
    torch.save(checkpoint, path.with_name("model.pt"))


def load_checkpoint(path, model, optimizer, scaler):
    checkpoint = torch.load(path.with_name("model.pt"))
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])
    torch.set_rng_state(checkpoint["random"])


# %% resume-exactly: assigns-new-tensors
# says: the optimizer does not step on the model's weights
# mistake: optimizer-left-behind
def save_checkpoint(path, model, optimizer, scaler):
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "random": torch.get_rng_state(),
    }
    torch.save(checkpoint, path)


def load_checkpoint(path, model, optimizer, scaler):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"], assign=True)
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])
    torch.set_rng_state(checkpoint["random"])


# %% resume-exactly: only-the-learning-rate
# says: Adam's first running mean is
def save_checkpoint(path, model, optimizer, scaler):
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "random": torch.get_rng_state(),
    }
    torch.save(checkpoint, path)


def load_checkpoint(path, model, optimizer, scaler):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    for state in optimizer.state.values():
        state["exp_avg"].zero_()
    scaler.load_state_dict(checkpoint["scaler"])
    torch.set_rng_state(checkpoint["random"])


# %% resume-exactly: a-variable-beside-the-file
# says: After that the run went on and was saved to another file
# mistake: state-beside-the-file
states = []


def save_checkpoint(path, model, optimizer, scaler):
    parts = [{**each.state_dict()} for each in (model, optimizer, scaler)]
    parts[0] = {name: weight.clone() for name, weight in parts[0].items()}
    states[:] = [*parts, torch.get_rng_state()]
    torch.save({}, path)


def load_checkpoint(path, model, optimizer, scaler):
    for each, state in zip((model, optimizer, scaler), states):
        each.load_state_dict(state)
    torch.set_rng_state(states[3])


# %% resume-exactly: a-file-for-each
# says: Beside it save_checkpoint left checkpoint.optimizer, checkpoint.random, checkpoint.scaler.
# mistake: several-files
def save_checkpoint(path, model, optimizer, scaler):
    torch.save(model.state_dict(), path)
    torch.save(optimizer.state_dict(), path.with_suffix(".optimizer"))
    torch.save(scaler.state_dict(), path.with_suffix(".scaler"))
    torch.save(torch.get_rng_state(), path.with_suffix(".random"))


def load_checkpoint(path, model, optimizer, scaler):
    model.load_state_dict(torch.load(path))
    optimizer.load_state_dict(torch.load(path.with_suffix(".optimizer")))
    scaler.load_state_dict(torch.load(path.with_suffix(".scaler")))
    torch.set_rng_state(torch.load(path.with_suffix(".random")))


# %% resume-exactly: draws-at-the-end
# says: Whatever draws random numbers moves it on
# mistake: moves-the-random-state-on
def save_checkpoint(path, model, optimizer, scaler):
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "random": torch.get_rng_state(),
    }
    torch.save(checkpoint, path)


def load_checkpoint(path, model, optimizer, scaler):
    checkpoint = torch.load(path)
    torch.set_rng_state(checkpoint["random"])
    trained = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    trained.load_state_dict(checkpoint["model"])
    model.load_state_dict(trained.state_dict())
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])
