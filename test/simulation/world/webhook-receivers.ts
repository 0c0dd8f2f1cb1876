import type { Prng } from '@penstock/adapters/deterministic/prng.ts'
import type { SimulatedProcess } from '@penstock/adapters/deterministic/faults/crash-injection.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { PostWebhook, WebhookAnswer } from '@penstock/ports/post-webhook.ts'

/** An attempt that reached its receiver. */
export type ReceivedWebhook = { readonly url: string; readonly envelopeId: string; readonly status: number }

/** The receivers of all webhooks. While faults are enabled, some of their answers are refusals. */
export function createWebhookReceivers(draws: Prng, hasFaults: () => boolean) {
  const received: ReceivedWebhook[] = []
  const answer = (): number => (hasFaults() && draws.chance(0.2) ? draws.pick([500, 503, 429, 408]) : 200)
  const receive = async (url: string, envelopeId: string): Promise<WebhookAnswer> => {
    const status = answer()
    received.push({ url, envelopeId, status })
    return { kind: 'answered', status, retryAfterSeconds: null }
  }
  return {
    received,
    /** The calls of a process, which may fail, and in which the process may crash. */
    connect:
      (process: SimulatedProcess): PostWebhook =>
      async ({ url, headers }) => {
        try {
          return await process.call('webhooks.post', () => receive(url, headers['webhook-id'] ?? ''), {
            fault: 'outsideFault',
            answerLost: 'outsideFault',
          })
        } catch (error) {
          if (!(error instanceof Fault)) throw error
          return { kind: 'failed', reason: 'the host did not answer' }
        }
      },
  }
}
