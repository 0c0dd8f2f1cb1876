import { Fault } from '@penstock/kernel/result.ts'
import { OperatorError } from './http.ts'
import type { OperatorAudit } from './audit-routes.ts'

// An audit reads every stream. During an audit, the audit process sends spaces, so that a fetch soon detects a crash.
const AUDIT_TIMEOUT_MS = 24 * 3_600_000

/** Requests audits from the audit process. An audit folds streams with the code of all services, which a gateway lacks. */
export function createRemoteAudit(url: string): OperatorAudit {
  return {
    verify: (note) => postToAudit(url, '/verify', note === undefined ? {} : { note }),
    replay: (orderId) => postToAudit(url, '/replay', { orderId }),
    export: (orderId) => postToAudit(url, '/export', { orderId }),
  }
}

/** @returns undefined if the audit process has no such order */
async function postToAudit<T>(url: string, path: string, body: object): Promise<T> {
  if (url === '') throw new OperatorError(503, 'This installation runs no audit process; set PENSTOCK_AUDIT_URL.')
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(AUDIT_TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw new Fault(`the audit process does not answer: ${String(error)}`)
  })
  const answer = (await response.json()) as { readonly value?: T; readonly error?: string } // the audit process writes this shape
  if (answer.error !== undefined) throw new Fault(`the audit could not be made: ${answer.error}`)
  return answer.value as T // absent if there is no such order, which T allows
}
