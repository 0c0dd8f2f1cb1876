import type { Gateway } from '@penstock/gateway/ports.ts'
import type { Ids } from '@penstock/ports/clock.ts'
import type { PostWebhook, WebhookRequest } from '@penstock/ports/post-webhook.ts'

type WebhookGuard = Gateway['webhookGuard']

export type DemoReceiver = {
  readonly url: string
  /** The requests that arrived, in their order. */
  readonly received: readonly WebhookRequest[]
  /** Adds the receiver's host to those that a guard allows. */
  allowIn(guard: WebhookGuard): WebhookGuard
  /** Takes the requests to the receiver's URL. All others go their usual way. */
  attachTo(post: PostWebhook): PostWebhook
  /** From then on the receiver's host is refused like any other that does not exist. */
  close(): void
}

/** The discard prefix (RFC 6666). A connection to this address would reach nobody. */
const NOWHERE = '[100::]'

/**
 * A receiver of webhooks within this process. It listens on no port, so it needs no exception for loopback. Its name is
 * random and ends in `.invalid`, which no name server resolves (RFC 6761): other URLs are checked as if it did not exist.
 */
export function createDemoReceiver(ids: Pick<Ids, 'random'>): DemoReceiver {
  const host = `demo-${Buffer.from(ids.random(16)).toString('hex')}.invalid`
  const url = `https://${host}/webhooks`
  const received: WebhookRequest[] = []
  let isOpen = true
  return {
    url,
    received,
    allowIn: (guard) => async (asked) => (isOpen && asked === host ? { allowed: true, host: NOWHERE } : guard(asked)),
    attachTo: (post) => async (request) => {
      if (!isOpen || request.url !== url) return post(request)
      received.push(request)
      return { kind: 'answered', status: 204, retryAfterSeconds: null }
    },
    close() {
      isOpen = false
    },
  }
}
