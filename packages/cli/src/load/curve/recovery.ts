import { type LoadClock, sleepUntil } from '../load-clock.ts'

/** One of the unpaid purchases that are due every second after the overload. */
export type RecoveryPurchase = {
  /** Milliseconds from the end of the overload to the purchase. */
  readonly atMs: number
  /** The time to its invoice; null if it was refused or failed, undefined while it is in flight. */
  readonly ms: number | null | undefined
}

export type Recovery = {
  readonly normalP50Ms: number
  /** A purchase is normal if it takes less. */
  readonly limitMs: number
  readonly purchases: readonly RecoveryPurchase[]
  /** Milliseconds from the end of the overload to the first normal purchase of a row; null if no row came in time. */
  readonly recoveredMs: number | null
}

/** Purchases in a row that must be normal. One alone may be quick by chance. */
export const NORMAL_ROW = 5
/** Without overload, medians of short loads vary by less than this factor. */
const MAX_FACTOR = 2
const INTERVAL_MS = 1000

/** @returns the start of the first row of normal purchases; null if there is none yet */
export function findRecovery(purchases: readonly RecoveryPurchase[], limitMs: number): number | null {
  const isNormal = ({ ms }: RecoveryPurchase): boolean => typeof ms === 'number' && ms < limitMs
  const first = purchases.findIndex(
    (_, index) => index + NORMAL_ROW <= purchases.length && purchases.slice(index, index + NORMAL_ROW).every(isNormal),
  )
  return purchases[first]?.atMs ?? null
}

type RecoveryOptions = {
  readonly normalP50Ms: number
  /** Places an unpaid order. It resolves once there is an invoice, or to false if the market gives none. */
  readonly buy: () => Promise<boolean>
  readonly maxWaitMs: number
  readonly clock: LoadClock
  readonly signal: AbortSignal
}

/** Starts at the end of an overload. Places one purchase a second, regardless of earlier purchases, until a row is normal. */
export async function measureRecovery({ normalP50Ms, buy, maxWaitMs, clock, signal }: RecoveryOptions): Promise<Recovery> {
  const startedAt = clock.monotonicMs()
  const limitMs = normalP50Ms * MAX_FACTOR
  const purchases: RecoveryPurchase[] = []
  const defects: unknown[] = []
  const start = (atMs: number): void => {
    const index = purchases.push({ atMs, ms: undefined }) - 1
    buy().then(
      (hasInvoice) => void (purchases[index] = { atMs, ms: hasInvoice ? clock.monotonicMs() - startedAt - atMs : null }),
      (defect: unknown) => void defects.push(defect),
    )
  }
  let recoveredMs: number | null = null
  for (let atMs = 0; recoveredMs === null && atMs <= maxWaitMs; atMs += INTERVAL_MS) {
    if (!(await sleepUntil(clock, startedAt + atMs, signal))) break
    if (defects.length > 0) throw defects[0]
    recoveredMs = findRecovery(purchases, limitMs)
    if (recoveredMs === null) start(atMs)
  }
  return { normalP50Ms, limitMs, purchases: [...purchases], recoveredMs }
}
