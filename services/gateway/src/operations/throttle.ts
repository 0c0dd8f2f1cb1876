import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { Gateway } from '../ports.ts'
import { tooMany } from '../web/rate-limit.ts'

/** Counts one more use within a minute. @throws that there were too many, with the time to wait */
export async function withinLimit(
  { limits, clock }: Pick<Gateway, 'limits' | 'clock'>,
  key: string,
  perMinute: number,
): Promise<void> {
  const outcome = await limits.hit(key, perMinute, MINUTE_MS, clock.now())
  if (!outcome.allowed)
    throw tooMany({ name: key.slice(0, key.indexOf(' ')), limit: perMinute, retryAfterMs: outcome.retryAfterMs })
}
