import type { Config } from '@penstock/config/config.ts'
import { SECOND_MS } from '@penstock/kernel/time.ts'
import type { Clock } from '@penstock/ports/clock.ts'

type DeadlinePorts = { readonly clock: Pick<Clock, 'monotonicMs'>; readonly config: Pick<Config, 'buyAnswerSeconds'> }

/** Returns the latest time for the answer to a caller, by the monotonic clock. */
export const getAnswerDeadline = ({ clock, config }: DeadlinePorts): number =>
  clock.monotonicMs() + config.buyAnswerSeconds * SECOND_MS
