import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonCall } from '../callers.ts'

/** A purchase that nobody pays, and that shows the time to an invoice. */
export type Probe = {
  /** Since the end of the load. */
  readonly sentAtMs: number
  /** Null if the buyer got no invoice, or has none yet. */
  readonly tookMs: number | null
}

const PROBE_INTERVAL_MS = 1000
const STREAK = 5
/** Usual medians of invoice times differ by less than this factor. */
const MAX_FACTOR = 2

/**
 * Finds the time from the end of the load to normal answers: the answer to the first of five probes in a row that each took
 * less than twice the usual median.
 * @returns null if there are no five such probes in a row
 */
export function findRecoveryMs(probes: readonly Probe[], normalMs: number): number | null {
  let streak: number[] = []
  for (const { sentAtMs, tookMs } of probes) {
    streak = tookMs !== null && tookMs < MAX_FACTOR * normalMs ? [...streak, sentAtMs + tookMs] : []
    if (streak.length === STREAK) return streak[0] ?? null
  }
  return null
}

/** Sends one probe per second, and does not wait for earlier answers. It ends with the recovery or at the limit. */
export async function probeUntilNormal(
  buy: JsonCall,
  body: string,
  normalMs: number,
  limitMs: number,
): Promise<readonly Probe[]> {
  const probes: Probe[] = []
  const startedAt = performance.now()
  const send = async (index: number, sentAtMs: number): Promise<void> => {
    probes[index] = { sentAtMs, tookMs: null }
    const text = await buy(body).catch(() => '')
    if (text.includes('"lightning_invoice":"ln')) probes[index] = { sentAtMs, tookMs: performance.now() - startedAt - sentAtMs }
  }
  for (let index = 0; findRecoveryMs(probes, normalMs) === null; index++) {
    const sentAtMs = performance.now() - startedAt
    if (sentAtMs > limitMs) break
    void send(index, sentAtMs)
    await sleep(Math.max(0, (index + 1) * PROBE_INTERVAL_MS - (performance.now() - startedAt)))
  }
  return probes
}
