import { Fault } from '@penstock/kernel/result.ts'
import { OperatorError } from './answers.ts'
import type { OperatorAudit } from './audit-routes.ts'

// An audit reads every stream. Meanwhile the process sends spaces, so that a fetch notices within minutes if it is gone.
const PATIENCE_MS = 24 * 3_600_000

/** Audits by a process that folds with the code of all services, which a gateway does not have. */
export function remoteAudit(url: string): OperatorAudit {
  return {
    verify: (note) => ask(url, '/verify', note === undefined ? {} : { note }),
    replay: (orderId) => ask(url, '/replay', { orderId }),
    export: (orderId) => ask(url, '/export', { orderId }),
  }
}

/** @returns undefined for what the process knows nothing of */
async function ask<T>(url: string, path: string, body: object): Promise<T> {
  if (url === '') throw new OperatorError(503, 'This installation runs no audit process; set PENSTOCK_AUDIT_URL.')
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).catch((error: unknown) => {
    throw new Fault(`the audit process does not answer: ${String(error)}`)
  })
  const answer = (await response.json()) as { readonly value?: T; readonly error?: string } // what the audit process writes
  if (answer.error !== undefined) throw new Fault(`the audit could not be made: ${answer.error}`)
  return answer.value as T // absent where there is no such order, which T says
}
