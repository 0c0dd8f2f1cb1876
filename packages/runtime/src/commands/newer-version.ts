import type { BasePorts } from '../base-ports.ts'
import { newerMessageTries } from '../observability/metrics.ts'
import type { NewerVersionFault } from './upcast.ts'

/** Counts and logs each try of a message that needs a newer version of the process. */
export function reportNewerVersion(
  { log }: Pick<BasePorts, 'log'>,
  consumer: string,
  key: string,
  { message: reason }: NewerVersionFault,
): void {
  newerMessageTries.inc({ consumer })
  log.warn({ consumer, key, reason }, 'a message waits for a newer version of this process')
}
