import type { AddressedCommand } from '@penstock/kernel/process.ts'
import { sendCommand } from '../../commands/commands.ts'
import type { Gateway } from '../../ports.ts'

/**
 * Stores a name outside the facts, and sends a command with the id of its record. The record stays after a refusal, because a
 * replica may refuse the repetition of a command that another replica accepts.
 * @param until the latest time for the answer, by the monotonic clock
 */
export async function sendNamedCommand(
  gateway: Pick<Gateway, 'ids' | 'records' | 'clock' | 'commands' | 'config'>,
  name: string,
  until: number,
  createCommand: (nameRecord: string) => AddressedCommand,
): Promise<void> {
  const { ids, records, clock } = gateway
  const nameRecord = ids.uuid()
  await records.put(nameRecord, 'name', JSON.stringify({ name }), clock.now())
  await sendCommand(gateway, createCommand(nameRecord), { until })
}
