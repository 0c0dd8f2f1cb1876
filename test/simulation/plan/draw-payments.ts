import { sandboxBehavior } from '@penstock/contracts/payments/shapes.ts'
import { createPrng, type Prng } from '@penstock/adapters/deterministic/prng.ts'
import { type SandboxInvoice, WORKLOAD_MS } from './plan.ts'

/** The share of plans with a sandbox. */
const SANDBOX_SHARE = 0.4

/** Draws from its own stream, so that the other choices of a plan are the same with and without a sandbox. */
export function drawSandboxInvoices(seed: number): readonly SandboxInvoice[] {
  const random = createPrng(`payments ${seed}`)
  if (!random.chance(SANDBOX_SHARE)) return []
  return Array.from({ length: random.between(1, 2) }, () => ({
    atMs: random.between(0, WORKLOAD_MS - 4000),
    behavior: drawBehavior(random),
    expirySeconds: random.between(1, 8),
    callDelaysMs: [0, ...drawRepetitions(random)],
    sends: Array.from({ length: random.between(0, 3) }, () => ({
      behavior: drawBehavior(random),
      callDelaysMs: [drawDelay(random), ...drawRepetitions(random)],
    })),
  }))
}

/** Half of the calls are made at once, so that two calls use one key, or two sends claim one payment hash, at the same time. */
const drawDelay = (random: Prng): number => (random.chance(0.5) ? 0 : random.between(0, 4000))
const drawRepetitions = (random: Prng): readonly number[] => Array.from({ length: random.between(0, 2) }, () => drawDelay(random))
const drawBehavior = (random: Prng) => random.pick(sandboxBehavior.options)
