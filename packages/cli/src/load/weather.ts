import { asTrouble, sleepUntil } from './life.ts'
import type { Operator } from './market.ts'
import { type Random, seeded } from './random.ts'
import { type Behaviour, draw, type Shares } from './shares.ts'
import type { Tally } from './tally.ts'
import type { SimNode } from './world.ts'

/** A seller keeps a behaviour for so long: some orders meet it, and the market sees it change. */
const EVERY_MS = 5000
const FAILURES = ['wrong-size', 'wrong-peer', 'vanish'] as const

/** In the words of `penstock sim behave`. `fails`: in one of the ways that the market finds out soon. */
const wordOf = (behaviour: Behaviour, random: Random): string => {
  if (behaviour === 'good') return 'ok'
  return behaviour === 'fails' ? (FAILURES[Math.floor(random() * FAILURES.length)] ?? 'vanish') : behaviour
}

/** Draws anew how each seller of the simulated network behaves, again and again, until the signal. */
export async function changeSellers(
  operator: Operator,
  sellers: readonly SimNode[],
  shares: Shares<Behaviour>,
  { seed, tally, signal }: { readonly seed: number; readonly tally: Tally; readonly signal: AbortSignal },
): Promise<void> {
  const random = seeded(seed)
  for (let at = performance.now(); await sleepUntil(at, signal); at += EVERY_MS)
    for (const { alias } of sellers) await behave(operator, alias, wordOf(draw(shares, random), random), tally)
}

/** What the run changed it changes back: sellers are good again. */
export async function calm(operator: Operator, sellers: readonly SimNode[], tally: Tally): Promise<void> {
  for (const { alias } of sellers) await behave(operator, alias, 'ok', tally)
}

const behave = async (operator: Operator, alias: string, how: string, tally: Tally): Promise<void> => {
  try {
    await operator('POST', '/sim/behave', { alias, how })
  } catch (error) {
    tally.note('sellers', asTrouble(error))
  }
}
