import type { SendStatus } from '@penstock/contracts/payments/lifecycle.ts'
import type { SendFact } from '@penstock/contracts/payments/send.ts'
import type { SandboxBehavior } from '@penstock/contracts/payments/shapes.ts'
import { assert, Bug } from '@penstock/kernel/result.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import { sendMachine } from './send.machine.ts'

type RequestedSend = {
  readonly walletId: string
  readonly amount: string
  readonly behavior: SandboxBehavior
  readonly outcomeAt: number | null
}
type SendInvoice = { readonly paymentHash: string; readonly amountMsat: string; readonly expiresAt: number }

/** An ended send needs only its status, since no later command changes it. */
export type Send =
  | ({ readonly status: 'RESOLVING' } & RequestedSend)
  | ({ readonly status: 'CLAIMING' | 'PENDING' } & RequestedSend & SendInvoice)
  | { readonly status: 'NONE' | 'CLOSING' | 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'DUPLICATE' }

export const sendLifecycle = compileLifecycle<'NONE' | SendStatus, SendFact['type']>(sendMachine)

/** @throws Bug for a fact that cannot follow in the present status */
export function evolveSend(send: Send, fact: SendFact): Send {
  if (!sendLifecycle.after(send.status, fact.type)) throw new Bug(`${fact.type} cannot follow ${send.status}`)
  switch (fact.type) {
    case 'SendRequested': {
      const { walletId, amount, behavior, outcomeAt } = fact.data
      return { status: 'RESOLVING', walletId, amount, behavior, outcomeAt }
    }
    case 'InvoiceResolved': {
      assert(send.status === 'RESOLVING', 'only a requested send gets an invoice')
      const { paymentHash, amountMsat, expiresAt } = fact.data
      return { ...send, status: 'CLAIMING', paymentHash, amountMsat, expiresAt }
    }
    case 'HashClaimed':
      assert(send.status === 'CLAIMING', 'only a send with an invoice claims a payment hash')
      return { ...send, status: 'PENDING' }
    case 'HashTaken':
      return { status: 'DUPLICATE' }
    case 'SendCompleted':
      return { status: 'COMPLETED' }
    case 'SendFailed':
      return { status: 'FAILED' }
    case 'SendExpiryReached':
      return { status: 'CLOSING' }
    case 'SendExpired':
      return { status: 'EXPIRED' }
  }
}
