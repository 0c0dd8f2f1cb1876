import { endpointContract } from '@penstock/contracts/payments/endpoint.ts'
import type { Attempt, DueEndpoint } from '@penstock/ports/deliveries.ts'
import type { WebhookRequest } from '@penstock/ports/post-webhook.ts'
import type { BasePorts } from '@penstock/runtime/base-ports.ts'
import { deriveId } from '@penstock/runtime/commands/derived-ids.ts'
import { hitCrashPoint } from '@penstock/runtime/crash-points.ts'
import { retryFaults } from '@penstock/runtime/retry.ts'
import type { ServiceContext } from '@penstock/runtime/service.ts'
import { MAX_WAIT_MS } from './feed.ts'
import { countAttempt } from './metrics.ts'
import { isLastAttempt, judgeAnswer, type Verdict } from './outcome.ts'
import type { WebhookPorts } from './ports.ts'
import { createRequestMaker } from './request.ts'

type CallContext = Pick<ServiceContext<WebhookPorts>, 'decide'> & {
  readonly ports: Pick<BasePorts, 'clock' | 'ids' | 'log'> & Pick<WebhookPorts, 'records' | 'opener' | 'postWebhook'>
}

/** Creates a function that makes one call and judges its answer. Without a request there is no call. It never throws. */
export function createCaller(context: CallContext) {
  const { ports } = context
  const makeRequest = createRequestMaker(ports)

  async function prepareRequest(attempt: Attempt, endpoint: DueEndpoint): Promise<WebhookRequest | undefined> {
    const fields = { attempt: attempt.id, endpoint: endpoint.id }
    try {
      const request = await makeRequest(attempt, endpoint)
      if (!request) ports.log.warn(fields, 'the URL or the secret of an endpoint is missing; its attempt is postponed')
      return request
    } catch (error) {
      ports.log.error({ ...fields, reason: String(error) }, 'a webhook could not be made; its attempt is postponed')
      return undefined
    }
  }

  async function post(request: WebhookRequest, attempt: Attempt, endpoint: DueEndpoint): Promise<Verdict> {
    try {
      return judgeAnswer(await ports.postWebhook(request))
    } catch (error) {
      // The request may have been sent, so this attempt counts.
      ports.log.error({ attempt: attempt.id, endpoint: endpoint.id, reason: String(error) }, 'a webhook could not be sent')
      return { ...judgeAnswer({ kind: 'failed', reason: 'the service could not send it' }), isReceiversFault: false }
    }
  }

  return async (attempt: Attempt, endpoint: DueEndpoint): Promise<Verdict | 'POSTPONED'> => {
    const request = await prepareRequest(attempt, endpoint)
    if (!request) {
      countAttempt('POSTPONED')
      return 'POSTPONED'
    }
    const verdict = await post(request, attempt, endpoint)
    hitCrashPoint('payments.webhook.after-call')
    countAttempt(verdict)
    // The fact comes first, so that after a crash the repeated attempt can find the reason again.
    await deactivateIfNeeded(context, endpoint, attempt, verdict).catch((error: unknown) =>
      ports.log.error(
        { attempt: attempt.id, endpoint: endpoint.id, reason: String(error) },
        'an endpoint could not be switched off; its next failure tries it again',
      ),
    )
    return verdict
  }
}

/**
 * Switches an endpoint off that wants no more events, or has failed for too long. After days without an event, a single failure
 * shows little, so only the last attempt of a delivery does.
 */
async function deactivateIfNeeded(
  { ports, decide }: CallContext,
  { id, urlRecord, failingSince }: DueEndpoint,
  attempt: Attempt,
  verdict: Verdict,
): Promise<void> {
  const { isReceiversFault, isGone, httpStatus } = verdict
  const now = ports.clock.now()
  const hasFailedLong = isReceiversFault && failingSince !== null && now - failingSince >= MAX_WAIT_MS
  const isFailing = hasFailedLong && isLastAttempt(attempt, verdict)
  if (!isGone && !isFailing) return
  const data = { reason: isGone ? ('GONE' as const) : ('FAILING' as const), since: failingSince ?? now, httpStatus, urlRecord }
  const command = { type: 'DeactivateEndpoint', data }
  await retryFaults(ports, new AbortController().signal, () =>
    decide({ category: endpointContract.category, id, command }, deriveId('deactivate endpoint', attempt.id)),
  )
}
