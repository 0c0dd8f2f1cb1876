import { random } from '@penstock/adapters/seeded/random.ts'
import { expect, test } from 'vitest'
import { planOf } from './draw-plan.ts'
import type { Plan } from './plan.ts'
import { startReplica } from './replica.ts'
import { runPlan } from './run-plan.ts'
import { toolsOf } from './scene-tools.ts'

/** The seller cannot be reached when it is paid, gives other invoices at once, and is back soon after. */
function unreachable(seed: number): Plan {
  const tools = toolsOf(random(`late payout ${seed}`))
  const { on, does, purchase } = tools
  return {
    ...planOf(seed),
    busyMs: 8000,
    purchases: [purchase()],
    weather: [],
    deeds: [],
    deaths: [],
    fatalCalls: [],
    old: [],
    skewMs: {},
    faults: { lightningLate: 0.5 },
    cues: [
      on('settlement PayoutRequested', does('the seller is away', { at: 0, much: [2000, 3500] })),
      on(
        'settlement PayoutFailed',
        does('the seller gives an invoice', { at: 0 }),
        does('the seller gives an invoice', { at: 100 }),
      ),
    ],
  }
}

/** In each of them one payment is late, and the seller is paid by it. One in ten is so; a change of the course has others. */
const SEEDS = [3, 23, 33] as const
const LATE = 'another invoice of this order was paid already'

test(
  'a payment that was given up, and comes to the node when the seller has given another invoice, is the only one',
  { timeout: 300_000 },
  async () => {
    const outcomes = []
    for (const seed of SEEDS) outcomes.push(await runPlan(unreachable(seed), { today: startReplica, pinned: undefined }))
    expect(outcomes.flatMap(({ broken }) => broken?.message ?? [])).toEqual([])
    // It was met: the market found the late one before it paid by the other.
    expect(outcomes.filter(({ diary }) => diary.some((line) => line.includes(LATE))).map(({ plan }) => plan.seed)).toEqual([
      ...SEEDS,
    ])
  },
)
