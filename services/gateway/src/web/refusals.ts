import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Log } from '@penstock/runtime/log.ts'
import { registry } from '@penstock/runtime/metrics.ts'
import { Counter } from 'prom-client'

const refusals = new Counter({
  name: 'penstock_authentication_refused_total',
  help: 'Log-ins and calls of operators that were refused, by method; `limited` where there were too many, else `wrong`.',
  labelNames: ['method', 'code'] as const,
  registers: [registry],
})

// Prometheus sees the first refusal as an increase only where the series was there before.
for (const method of ['password', 'node', 'operator', 'any'])
  for (const code of ['wrong', 'limited']) refusals.inc({ method, code }, 0)

type Refusal = {
  readonly method: 'password' | 'node' | 'operator' | 'any'
  readonly code: 'wrong' | 'limited'
  /** The caller's address; of IPv6 its network. */
  readonly ip: string
  /** The account as it was named: the hash of an e-mail address, or a node's key. Never a secret, never the address itself. */
  readonly account?: string
}

type Budget = { sinceMs: number; lines: number }

/** Whoever guesses must not fill the log: beyond this the metric counts alone. */
const LINES_PER_MINUTE = 60
const budgets = new WeakMap<Log, Budget>()

/** Counts and logs that somebody was not let in. */
export function recordRefusal(
  { log, clock }: { readonly log: Log; readonly clock: Pick<Clock, 'monotonicMs'> },
  refusal: Refusal,
): void {
  const { method, code } = refusal
  refusals.inc({ method, code })
  const nowMs = clock.monotonicMs()
  const known = budgets.get(log)
  const budget = known && nowMs - known.sinceMs < MINUTE_MS ? known : { sinceMs: nowMs, lines: 0 }
  budgets.set(log, budget)
  budget.lines++
  if (budget.lines <= LINES_PER_MINUTE) log.warn(refusal, 'authentication refused')
  if (budget.lines === LINES_PER_MINUTE)
    log.warn({}, 'many authentications are refused; the rest of this minute is counted in the metrics only')
}
