import type { AddressedCommand } from '@penstock/kernel/process.ts'
import { assertAccepted } from '../../commands/commands.ts'
import type { Gateway } from '../../ports.ts'

/**
 * Stores a name outside the facts, and sends a command with the id of its record. The record of a refused command is deleted.
 * @param until the latest time for the answer, by the monotonic clock
 */
export async function sendNamedCommand(
  { ids, records, clock, commands }: Pick<Gateway, 'ids' | 'records' | 'clock' | 'commands'>,
  name: string,
  until: number,
  createCommand: (nameRecord: string) => AddressedCommand,
): Promise<void> {
  const nameRecord = ids.uuid()
  await records.put(nameRecord, 'name', JSON.stringify({ name }), clock.now())
  const answer = await commands.sendAndWait(createCommand(nameRecord), { until })
  if (answer.outcome === 'refused') await records.delete(nameRecord)
  assertAccepted(answer)
}
