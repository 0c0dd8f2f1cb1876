import type { ReceiveCommand, ReceiveFact } from '@penstock/contracts/payments/receive.ts'
import { accept, type Decider, type Decision, type Refusal } from '@penstock/kernel/decider.ts'
import type { EnrichedCommand } from '@penstock/runtime/commands/enriched-command.ts'
import { evolveReceive, type Receive } from './receive.ts'
import { liveRefusal, walletNotFound } from './refusals.ts'
import { isNextEnd, type OutcomeEnrichment, type RequestEnrichment } from './sandbox.ts'

export type EnrichedReceiveCommand = EnrichedCommand<
  ReceiveCommand,
  { RequestReceive: RequestEnrichment; RecordSandboxOutcome: OutcomeEnrichment }
>
type CommandOf<Type extends EnrichedReceiveCommand['type']> = Extract<EnrichedReceiveCommand, { readonly type: Type }>
type ReceiveRefusal = Refusal<'LIVE_NOT_SERVED' | 'NOT_FOUND'>
type ReceiveDecision = Decision<ReceiveFact, ReceiveRefusal>

function decide(receive: Receive, command: EnrichedReceiveCommand): ReceiveDecision {
  switch (command.type) {
    case 'RequestReceive':
      // The stream's id stands for the idempotency key, so a second request is a replay. The gateway answers its caller.
      return receive.status === 'NONE' ? requestReceive(command) : accept()
    case 'RecordSandboxOutcome':
      return recordSandboxOutcome(receive, command)
    case 'RecordExpiryReached':
      return receive.status === 'PENDING' && isNextEnd(receive, command)
        ? accept<ReceiveFact>({ type: 'ReceiveExpiryReached', v: 1, data: {} }, { type: 'ReceiveExpired', v: 1, data: {} })
        : accept()
  }
}

function requestReceive({ data }: CommandOf<'RequestReceive'>): ReceiveDecision {
  const { issuedAt, expiresAt, isDeleted, ...request } = data
  if (request.environmentType === 'LIVE') return liveRefusal
  if (isDeleted) return walletNotFound
  return accept<ReceiveFact>(
    { type: 'ReceiveRequested', v: 1, data: request },
    { type: 'InvoiceIssued', v: 1, data: { issuedAt, expiresAt } },
  )
}

function recordSandboxOutcome(receive: Receive, command: CommandOf<'RecordSandboxOutcome'>): ReceiveDecision {
  if (receive.status !== 'PENDING' || !isNextEnd(receive, command)) return accept()
  const { amount, amountMsat, behavior } = receive
  if (behavior === 'fail') return accept({ type: 'ReceiveFailed', v: 1, data: { reason: 'sandbox' } })
  const { rate } = command.data
  return accept({ type: 'ReceiveCompleted', v: 1, data: { amount, amountMsat, settledAt: command.at, rate } })
}

export const receiveDecider: Decider<Receive, EnrichedReceiveCommand, ReceiveFact, ReceiveRefusal> = {
  initial: { status: 'NONE' },
  evolve: evolveReceive,
  decide,
}
