import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RunningProcess } from '@penstock/cluster/launcher/launch.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clusterSkipReason, startCluster, type TestCluster } from '../support/cluster.ts'
import {
  createPaymentsClient,
  endsAs,
  issueServiceKey,
  openSandbox,
  type PaymentsClient,
  readRefusalCode,
  requireValue,
  type Sandbox,
} from '../support/payments-client.ts'
import { type AnswerWebhook, signatureOf, startWebhookReceivers, type WebhookEnvelope } from '../support/webhook-receivers.ts'
import { createWebhooksClient, WEBHOOK_PERMISSIONS, type WebhooksClient } from '../support/webhooks-client.ts'

// CI has to run every test, so CI without Java or Maven is an error.
if (clusterSkipReason !== undefined && process.env['CI'] !== undefined) throw new Error(clusterSkipReason)

/** Long enough to stop servers before the transactions of a test end. */
const OUTCOME_SECONDS = 4
const RESTART_TIMEOUT_MS = 120_000
const DELIVERED_WITHIN_MS = 120_000
const TRANSACTIONS = 20
const SETTINGS = {
  PENSTOCK_SANDBOX_OUTCOME_SECONDS: `${OUTCOME_SECONDS}`,
  PENSTOCK_SERVICE_KEY_PER_MINUTE: '0',
  PENSTOCK_WEBHOOK_ALLOW_LOOPBACK: '1',
  // Eight attempts last longer than the restart of a server.
  PENSTOCK_WEBHOOK_WAITS_SECONDS: '1,1,5,20,30,30,30',
}
type Path = 'all' | 'flaky' | 'refusing' | 'paused' | 'redirecting'
const LEADS_INSIDE = [
  'http://example.com/',
  'https://10.0.0.1/',
  'https://172.16.0.1/',
  'https://192.168.1.1/',
  'https://169.254.169.254/',
  'https://[fd00::1]/',
  'https://[::ffff:10.0.0.1]/',
  'https://167772161/',
  'https://0x0a.0.0.1/',
  'https://printer.local/',
  'https://db.internal/',
  'https://user:secret@example.com/',
  'ftp://example.com/',
  'no url',
]

describe.skipIf(clusterSkipReason !== undefined)('webhooks on a cluster with two replicas per service', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-webhooks-'))
  const answers: Record<Path, AnswerWebhook> = {
    all: () => 200,
    flaky: ({ repetition }) => (repetition < 2 ? 500 : 200),
    refusing: () => 403,
    paused: () => 200,
    redirecting: () => 302,
  }
  let receivers: Awaited<ReturnType<typeof startWebhookReceivers<Path>>>
  let cluster: TestCluster
  let sandbox: Sandbox
  let payments: PaymentsClient
  let webhooks: WebhooksClient
  let secret: string
  beforeAll(async () => {
    receivers = await startWebhookReceivers(answers)
    cluster = await startCluster(dataDir, { replicas: 2, env: SETTINGS })
    sandbox = await openSandbox(cluster)
    payments = createPaymentsClient(cluster, sandbox, await issueServiceKey(cluster, sandbox, WEBHOOK_PERMISSIONS))
    webhooks = createWebhooksClient(payments, sandbox)
    ;({ secret } = requireValue(await webhooks.createEndpoint({ url: receivers.urlOf('all') })))
  })
  afterAll(async () => {
    await cluster.stop()
    await receivers.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  const receivedOf = (transactionId: string, path: Path = 'all') =>
    receivers.at(path).filter((one) => one.transactionId === transactionId)
  const typesOf = (transactionId: string, path: Path = 'all'): readonly string[] => [
    ...new Set(receivedOf(transactionId, path).map(({ eventType }) => eventType)),
  ]
  const waitForEvents = (transactionIds: readonly string[], types: readonly string[]) =>
    waitUntil(
      `${types.join(' and ')} of ${transactionIds.length} transactions are accepted`,
      () =>
        transactionIds.every((id) =>
          types.every((type) => receivedOf(id).some(({ eventType, status }) => eventType === type && status === 200)),
        ),
      DELIVERED_WITHIN_MS,
      50,
    )
  const createCompleting = async (count: number): Promise<readonly string[]> => {
    const created = Array.from({ length: count }, async () => requireValue(await payments.receive(endsAs('complete'))).id)
    return Promise.all(created)
  }
  const findProcesses = (name: string) => cluster.processes().filter((one) => one.name === name)
  /** Kills a process, and waits until the supervisor has started it again. */
  async function killAndWait(one: RunningProcess): Promise<void> {
    const { pid, name } = one
    process.kill(pid ?? assert.fail(`${name} does not run`), 'SIGKILL')
    const isBack = async () => one.pid !== undefined && one.pid !== pid && (await isReady(one))
    await waitUntil(`${name} runs again`, isBack, RESTART_TIMEOUT_MS, 100)
  }
  const isReady = async ({ healthUrl, answers: isServing }: RunningProcess): Promise<boolean> =>
    isServing
      ? isServing()
      : fetch(`${healthUrl}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        )

  it('delivers the events of a transaction in order, signed, in the envelope of the market', async () => {
    const metadata = JSON.stringify({ svc_sandbox_behavior: 'complete', order: 42 })
    const { id } = requireValue(await payments.receive({ description: 'coffee', metadata }))
    await waitForEvents([id], ['payment.pending', 'payment.completed'])
    expect(typesOf(id)).toEqual(['payment.pending', 'payment.completed'])
    for (const webhook of receivedOf(id)) {
      const { headers, body, eventType } = webhook
      expect(headers).toMatchObject({
        'x-webhook-signature': signatureOf(webhook, secret),
        'x-webhook-event': eventType,
        'webhook-id': `${eventType}:${id}`,
        'content-type': 'application/json',
        'user-agent': 'Penstock-Webhooks/1',
      })
      expect(JSON.parse(body) as WebhookEnvelope).toMatchObject({
        id: `${eventType}:${id}`,
        event_type: eventType,
        environment: 'sandbox',
        environment_id: sandbox.environmentId,
        node_id: null,
        data: { id, direction: 'receive', metadata: { order: 42 } },
      })
    }
  })

  it('delivers the failure and the expiry of a transaction', async () => {
    const failing = requireValue(await payments.receive(endsAs('fail')))
    const expiring = requireValue(await payments.receive({ ...endsAs('expire'), expires_in_seconds: 1 }))
    await waitForEvents([failing.id], ['payment.failed'])
    await waitForEvents([expiring.id], ['payment.expired'])
  })

  it('refuses URLs that lead inside, and unknown types of events', async () => {
    const codes: (string | undefined)[] = []
    for (const url of LEADS_INSIDE) codes.push(readRefusalCode(await webhooks.createEndpoint({ url })))
    expect(codes).toEqual(LEADS_INSIDE.map(() => 'GRAPHQL_VALIDATION_FAILED'))
    const unknown = await webhooks.createEndpoint({ url: receivers.urlOf('all'), event_filters: ['payment.unknown'] })
    expect(readRefusalCode(unknown)).toBe('GRAPHQL_VALIDATION_FAILED')
  })

  it('repeats a delivery after 500 with the same bytes, never after 403 or a redirect, and logs each attempt', async () => {
    const paths = ['flaky', 'refusing', 'redirecting'] as const
    const ids = new Map<string, Path>()
    for (const path of paths) {
      const input = { url: receivers.urlOf(path), event_filters: ['payment.completed'] }
      ids.set(requireValue(await webhooks.createEndpoint(input)).endpoint.id, path)
    }
    const [id] = await createCompleting(1)
    assert.ok(id)
    await waitUntil('the third attempt', () => receivedOf(id, 'flaky').length === 3, DELIVERED_WITHIN_MS, 50)
    expect(new Set(receivedOf(id, 'flaky').map(({ body }) => body)).size).toBe(1)
    const readAttempts = async (path: Path) => {
      const [event] = await webhooks.listEvents({ transaction_id: id, event_type: 'payment.completed' })
      return (event?.deliveries ?? [])
        .filter(({ webhook_endpoint_id: endpoint }) => ids.get(endpoint) === path)
        .map(({ status, http_status: httpStatus }) => `${status} ${httpStatus}`)
    }
    await waitUntil('the success is logged', async () => (await readAttempts('flaky')).at(-1) === 'SUCCESS 200')
    expect(await readAttempts('flaky')).toEqual(['FAILED 500', 'FAILED 500', 'SUCCESS 200'])
    expect(await readAttempts('refusing')).toEqual(['FAILED 403'])
    expect(await readAttempts('redirecting')).toEqual(['FAILED 302'])
    for (const path of paths.slice(1)) expect(receivedOf(id, path).length).toBe(1)
  })

  it('keeps deliveries while an endpoint is switched off, and then signs them with the rotated secret', async () => {
    const input = { url: receivers.urlOf('paused'), event_filters: ['payment.completed'] }
    const created = requireValue(await webhooks.createEndpoint(input))
    const { id: endpoint } = created.endpoint
    const rotated = requireValue(await webhooks.rotateSecret(endpoint))
    expect(rotated.secret).not.toBe(created.secret)
    expect(requireValue(await webhooks.update({ id: endpoint, active: false })).active).toBe(false)
    const [id] = await createCompleting(1)
    assert.ok(id)
    await waitForEvents([id], ['payment.completed'])
    expect(receivedOf(id, 'paused')).toEqual([])
    expect(requireValue(await webhooks.update({ id: endpoint, active: true })).active).toBe(true)
    await waitUntil('the kept event arrives', () => receivedOf(id, 'paused').length > 0, DELIVERED_WITHIN_MS, 50)
    expect(typesOf(id, 'paused')).toEqual(['payment.completed'])
    for (const webhook of receivedOf(id, 'paused'))
      expect(webhook.headers['x-webhook-signature']).toBe(signatureOf(webhook, rotated.secret))
  })

  it('delivers each event although a replica of payments is killed while deliveries are due', async () => {
    const replicas = findProcesses('payments')
    expect(replicas.length).toBe(2)
    // The replica that sends for the endpoint is unknown, so each of them is killed once.
    for (const replica of replicas) {
      answers.all = () => 503
      const ids = await createCompleting(TRANSACTIONS)
      const isRefused = () => ids.some((id) => receivedOf(id).length > 0)
      await waitUntil('the first delivery is refused', isRefused, DELIVERED_WITHIN_MS, 20)
      const restarted = killAndWait(replica)
      answers.all = () => 200
      await waitForEvents(ids, ['payment.pending', 'payment.completed'])
      await restarted
    }
  })

  it('loses no event although PostgreSQL is killed between transactions and their deliveries', async () => {
    const ids = await createCompleting(TRANSACTIONS)
    await waitUntil('the first delivery', () => ids.some((id) => receivedOf(id).length > 0), DELIVERED_WITHIN_MS, 20)
    await killAndWait(findProcesses('postgres')[0] ?? assert.fail('PostgreSQL does not run'))
    await waitForEvents(ids, ['payment.pending', 'payment.completed'])
    const logged = await webhooks.listEvents()
    const expected = new Set(logged.map(({ event_type: type, transaction_id: id }) => `${type}:${id}`))
    expect(expected.size).toBe(logged.length)
    for (const { envelopeId } of receivers.at('all')) expect(expected).toContain(envelopeId)
    const bodies = new Map<string, string>()
    for (const { envelopeId, body } of receivers.at('all')) {
      expect(body).toBe(bodies.get(envelopeId) ?? body)
      bodies.set(envelopeId, body)
    }
  })

  it('sends an event once more at the request of its owner', async () => {
    const [event] = await webhooks.listEvents({ event_type: 'payment.failed' })
    const [delivery] = event?.deliveries ?? []
    assert.ok(event && delivery)
    const before = receivedOf(event.transaction_id).length
    requireValue(await webhooks.redeliver(event.id, delivery.webhook_endpoint_id))
    await waitUntil('the repetition', () => receivedOf(event.transaction_id).length > before, DELIVERED_WITHIN_MS, 50)
  })
})
