import type { ReceiveCommand } from '@penstock/contracts/payments/receive.ts'
import { deadline, type Process } from '@penstock/kernel/process.ts'
import type { Receive } from './receive.ts'
import { findNextEnd } from './sandbox.ts'

/** A receive with an invoice waits for its end. */
export const receiveProcess: Process<Receive, ReceiveCommand> = (receive) => {
  if (receive.status !== 'PENDING') return []
  const { at, command } = findNextEnd(receive)
  return [deadline<ReceiveCommand>('end', { at }, command)]
}
