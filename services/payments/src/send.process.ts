import type { SendClaimTarget, SendCommand } from '@penstock/contracts/payments/send.ts'
import { command, commandStep, deadline, type Process } from '@penstock/kernel/process.ts'
import { findNextEnd } from './sandbox.ts'
import type { Send } from './send.ts'

/** The id of the stream in which the sends of a wallet claim a payment hash. */
export const sendClaimIdOf = ({ walletId, paymentHash }: { readonly walletId: string; readonly paymentHash: string }): string =>
  `${walletId}:${paymentHash}`

/** A send first claims the payment hash of its invoice, and then waits for its end. */
export const sendProcess: Process<Send, SendCommand> = (send, sendId) => {
  if (send.status === 'CLAIMING')
    return [
      commandStep('claim', command<SendClaimTarget>('sendclaim', sendClaimIdOf(send), { type: 'ClaimHash', data: { sendId } })),
    ]
  if (send.status !== 'PENDING') return []
  const { at, command: end } = findNextEnd(send)
  return [deadline<SendCommand>('end', { at }, end)]
}
