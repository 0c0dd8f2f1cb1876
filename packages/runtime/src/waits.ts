import type { Basics } from './basics.ts'
import { newerTries } from './metrics.ts'
import type { TooNew } from './upcast.ts'

/** Shows at every try who waits for a newer process. */
export function waits({ log }: Pick<Basics, 'log'>, consumer: string, key: string, { message: reason }: TooNew): void {
  newerTries.inc({ consumer })
  log.warn({ consumer, key, reason }, 'a message waits for a newer version of this process')
}
