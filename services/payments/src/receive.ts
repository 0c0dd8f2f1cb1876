import type { ReceiveStatus } from '@penstock/contracts/payments/lifecycle.ts'
import type { ReceiveFact } from '@penstock/contracts/payments/receive.ts'
import type { SandboxBehavior } from '@penstock/contracts/payments/shapes.ts'
import { assert, Bug } from '@penstock/kernel/result.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import { receiveMachine } from './receive.machine.ts'

type RequestedReceive = {
  readonly amount: string
  readonly amountMsat: string
  readonly behavior: SandboxBehavior
  readonly outcomeAt: number | null
}

/** An ended receive needs only its status, since no later command changes it. */
export type Receive =
  | ({ readonly status: 'REQUESTED' } & RequestedReceive)
  | ({ readonly status: 'PENDING'; readonly expiresAt: number } & RequestedReceive)
  | { readonly status: 'NONE' | 'CLOSING' | 'COMPLETED' | 'FAILED' | 'EXPIRED' }

export const receiveLifecycle = compileLifecycle<'NONE' | ReceiveStatus, ReceiveFact['type']>(receiveMachine)

/** @throws Bug for a fact that cannot follow in the present status */
export function evolveReceive(receive: Receive, fact: ReceiveFact): Receive {
  if (!receiveLifecycle.after(receive.status, fact.type)) throw new Bug(`${fact.type} cannot follow ${receive.status}`)
  switch (fact.type) {
    case 'ReceiveRequested': {
      const { amount, amountMsat, behavior, outcomeAt } = fact.data
      return { status: 'REQUESTED', amount, amountMsat, behavior, outcomeAt }
    }
    case 'InvoiceIssued':
      assert(receive.status === 'REQUESTED', 'only a requested receive gets an invoice')
      return { ...receive, status: 'PENDING', expiresAt: fact.data.expiresAt }
    case 'ReceiveCompleted':
      return { status: 'COMPLETED' }
    case 'ReceiveFailed':
      return { status: 'FAILED' }
    case 'ReceiveExpiryReached':
      return { status: 'CLOSING' }
    case 'ReceiveExpired':
      return { status: 'EXPIRED' }
  }
}
