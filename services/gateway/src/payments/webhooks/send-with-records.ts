import type { AddressedCommand } from '@penstock/kernel/process.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import { assertAccepted } from '../../commands/commands.ts'
import type { Gateway } from '../../ports.ts'

/** Sends a command with the ids of new records. The records of a refused command are deleted. */
export async function sendWithRecords(gateway: Gateway, command: AddressedCommand, records: readonly string[]): Promise<void> {
  const answer = await gateway.commands.sendAndWait(command, { until: getAnswerDeadline(gateway) })
  if (answer.outcome === 'refused') await Promise.all(records.map((record) => gateway.records.delete(record)))
  assertAccepted(answer)
}
