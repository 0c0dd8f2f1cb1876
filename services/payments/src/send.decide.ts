import type { SendCommand, SendFact } from '@penstock/contracts/payments/send.ts'
import { accept, type Decider, type Decision, type Refusal } from '@penstock/kernel/decider.ts'
import type { EnrichedCommand } from '@penstock/runtime/commands/enriched-command.ts'
import { liveRefusal, walletNotFound } from './refusals.ts'
import { isNextEnd, type OutcomeEnrichment, type RequestEnrichment } from './sandbox.ts'
import { evolveSend, type Send } from './send.ts'

export type EnrichedSendCommand = EnrichedCommand<
  SendCommand,
  { RequestSend: RequestEnrichment; RecordSandboxOutcome: OutcomeEnrichment }
>
type CommandOf<Type extends EnrichedSendCommand['type']> = Extract<EnrichedSendCommand, { readonly type: Type }>
type SendRefusal = Refusal<'LIVE_NOT_SERVED' | 'NOT_FOUND'>
type SendDecision = Decision<SendFact, SendRefusal>

/** The deadline of a send begins after its claim was granted, so an end that arrives before has no effect. */
function decide(send: Send, command: EnrichedSendCommand): SendDecision {
  switch (command.type) {
    case 'RequestSend':
      // The stream's id stands for the idempotency key, so a second request is a replay. The gateway answers its caller.
      return send.status === 'NONE' ? requestSend(command) : accept()
    case 'RecordClaim':
      return recordClaim(send, command)
    case 'RecordSandboxOutcome':
      return recordSandboxOutcome(send, command)
    case 'RecordExpiryReached':
      return recordExpiryReached(send, command)
  }
}

function requestSend({ data }: CommandOf<'RequestSend'>): SendDecision {
  const { invoice, isDeleted, ...request } = data
  if (request.environmentType === 'LIVE') return liveRefusal
  if (isDeleted) return walletNotFound
  return accept<SendFact>({ type: 'SendRequested', v: 1, data: request }, { type: 'InvoiceResolved', v: 1, data: invoice })
}

function recordClaim(send: Send, { data: { granted, ofSendId } }: CommandOf<'RecordClaim'>): SendDecision {
  if (send.status !== 'CLAIMING') return accept()
  return accept(granted ? { type: 'HashClaimed', v: 1, data: {} } : { type: 'HashTaken', v: 1, data: { ofSendId } })
}

/** A sandbox pays nothing, so its payments have no fee. */
function recordSandboxOutcome(send: Send, command: CommandOf<'RecordSandboxOutcome'>): SendDecision {
  if (send.status !== 'PENDING' || !isNextEnd(send, command)) return accept()
  const { walletId, paymentHash, amount, amountMsat, behavior } = send
  if (behavior === 'fail') return accept({ type: 'SendFailed', v: 1, data: { walletId, paymentHash, reason: 'sandbox' } })
  const { rate } = command.data
  return accept({ type: 'SendCompleted', v: 1, data: { amount, amountMsat, feeMsat: '0', settledAt: command.at, rate } })
}

function recordExpiryReached(send: Send, command: CommandOf<'RecordExpiryReached'>): SendDecision {
  if (send.status !== 'PENDING' || !isNextEnd(send, command)) return accept()
  const { walletId, paymentHash } = send
  return accept<SendFact>(
    { type: 'SendExpiryReached', v: 1, data: {} },
    { type: 'SendExpired', v: 1, data: { walletId, paymentHash } },
  )
}

export const sendDecider: Decider<Send, EnrichedSendCommand, SendFact, SendRefusal> = {
  initial: { status: 'NONE' },
  evolve: evolveSend,
  decide,
}
