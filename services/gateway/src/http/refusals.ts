import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { registry } from '@penstock/runtime/observability/metrics.ts'
import { Counter } from 'prom-client'

const refusals = new Counter({
  name: 'penstock_authentication_refused_total',
  help: 'Refused log-ins and operator calls, by method. The code is `limited` if there were too many, else `wrong`.',
  labelNames: ['method', 'code'] as const,
  registers: [registry],
})

// Prometheus sees the first refusal as an increase only if the series existed before.
for (const method of ['password', 'node', 'operator', 'any'])
  for (const code of ['wrong', 'limited']) refusals.inc({ method, code }, 0)

type Refusal = {
  readonly method: 'password' | 'node' | 'operator' | 'any'
  readonly code: 'wrong' | 'limited'
  /** The caller's IPv4 address or IPv6 network. */
  readonly ip: string
  /** The hash of the given e-mail address, or the given node's key; never a secret, and never the e-mail address itself. */
  readonly account?: string
}

type LogBudget = { sinceMs: number; lines: number }

/** Maximum log lines per minute, so that an attacker cannot fill the log. The metric counts all refusals. */
const LINES_PER_MINUTE = 60
const budgets = new WeakMap<Logger, LogBudget>()

/** Counts and logs a refused authentication. */
export function recordRefusal(
  { log, clock }: { readonly log: Logger; readonly clock: Pick<Clock, 'monotonicMs'> },
  refusal: Refusal,
): void {
  const { method, code } = refusal
  refusals.inc({ method, code })
  const nowMs = clock.monotonicMs()
  const previous = budgets.get(log)
  const budget = previous && nowMs - previous.sinceMs < MINUTE_MS ? previous : { sinceMs: nowMs, lines: 0 }
  budgets.set(log, budget)
  budget.lines++
  if (budget.lines <= LINES_PER_MINUTE) log.warn(refusal, 'authentication refused')
  if (budget.lines === LINES_PER_MINUTE)
    log.warn({}, 'many authentications are refused; the rest of this minute is counted in the metrics only')
}
