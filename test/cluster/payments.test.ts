import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { RunningProcess } from '@penstock/cluster/launcher/launch.ts'
import { clusterSkipReason, startCluster, type TestCluster } from '../support/cluster.ts'
import { sendGraphql } from '../support/market-client.ts'
import {
  CREATE_ENVIRONMENT_MUTATION,
  CREATE_KEY_MUTATION,
  createPaymentsClient,
  endsAs,
  issueServiceKey,
  openSandbox,
  type PaymentsClient,
  readRefusalCode,
  requireValue,
  revokeServiceKey,
  type Sandbox,
  signUp,
  type Transaction,
} from '../support/payments-client.ts'

// CI has to run every test, so CI without Java or Maven is an error.
if (clusterSkipReason !== undefined && process.env['CI'] !== undefined) throw new Error(clusterSkipReason)

/** The kernel distributes connections among the gateways. With this number, each of the two gateways receives at least one. */
const CONNECTIONS = 12
/** Requests per minute of a user at the dashboard, over all gateways. */
const DASHBOARD_PER_MINUTE = 40
/** Requests per minute of a service API key, over all gateways. Above 100 the limit counts by the second, as in production. */
const SERVICE_KEY_PER_MINUTE = 240
/** Long enough to kill processes before the transactions of a test end. */
const OUTCOME_SECONDS = 8
/** On an idle machine a killed process is ready again after a few seconds. */
const RESTART_TIMEOUT_MS = 120_000
const INVALID = 'GRAPHQL_VALIDATION_FAILED'
const IN_PROGRESS = 'A request with this idempotency_key is already in progress'
const KEYS_QUERY = 'query ($id: String!) { service_api_keys { get_many(environment_id: $id) { id active } } }'

describe.skipIf(clusterSkipReason !== undefined)('payments on a cluster with two replicas per service', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-payments-'))
  let cluster: TestCluster
  let sandbox: Sandbox
  /** Calls with a key of the test's own, because a key has a limit. */
  let payments: PaymentsClient
  beforeAll(async () => {
    const env = {
      PENSTOCK_DASHBOARD_PER_MINUTE: `${DASHBOARD_PER_MINUTE}`,
      PENSTOCK_SERVICE_KEY_PER_MINUTE: `${SERVICE_KEY_PER_MINUTE}`,
      PENSTOCK_SANDBOX_OUTCOME_SECONDS: `${OUTCOME_SECONDS}`,
    }
    cluster = await startCluster(dataDir, { replicas: 2, env })
    sandbox = await openSandbox(cluster)
  })
  beforeEach(async () => {
    payments = createPaymentsClient(cluster, sandbox, await issueServiceKey(cluster, sandbox))
  })
  afterAll(async () => {
    await cluster.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const repeat = <T>(times: number, run: (index: number) => Promise<T>): Promise<readonly T[]> =>
    Promise.all(Array.from({ length: times }, (_, index) => run(index)))

  it('ends each invoice as its caller asked, and shows its history', async () => {
    const cases = [
      {
        input: { ...endsAs('complete'), description: 'coffee' },
        status: 'COMPLETED',
        event: 'payment.completed',
        settled: '1000',
      },
      { input: endsAs('fail'), status: 'FAILED', event: 'payment.failed', settled: undefined },
      { input: { ...endsAs('expire'), expires_in_seconds: 2 }, status: 'EXPIRED', event: 'payment.expired', settled: undefined },
    ]
    const created = await repeat(cases.length, async (index) => requireValue(await payments.receive(cases[index]?.input)))
    for (const [index, { status, event, settled }] of cases.entries()) {
      const { id, ...invoice } = created[index] ?? assert.fail('an invoice is missing')
      expect(invoice).toMatchObject({ status: 'PENDING', direction: 'RECEIVE', amount: { full_amount: '1000' } })
      expect(invoice.payment_request).toMatch(/^lnbcrt/)
      const ended = await payments.waitForEnd(id)
      expect(ended.status).toBe(status)
      expect(ended.events.map(({ event_type: type }) => type)).toEqual(['payment.pending', event])
      expect(ended.settle_amount?.full_amount).toBe(settled)
      expect(ended.error !== null).toBe(status === 'FAILED')
    }
    expect(await payments.readBalance()).toEqual({ balance: '1000', received: '1000', sent: '0' })
  })

  it('makes one invoice of ten concurrent calls with one idempotency key, whichever gateway receives them', async () => {
    const answers = await repeat(10, () => payments.receive({ idempotency_key: 'one-of-ten' }))
    const invoices = new Set(answers.flatMap(({ value }) => (value ? [value.payment_request] : [])))
    const refusals = answers.flatMap(({ errors }) => (errors ? [errors[0]?.message] : []))
    expect(invoices.size).toBe(1)
    expect(new Set(refusals)).toEqual(new Set(refusals.length === 0 ? [] : [IN_PROGRESS]))
    const later = await repeat(CONNECTIONS, () => payments.receive({ idempotency_key: 'one-of-ten', amount: '2000' }))
    expect(new Set(later.map((answer) => requireValue(answer).payment_request))).toEqual(invoices)
  })

  it('ends sends by invoice and by address as their caller asked, and pays a hash only once', async () => {
    const before = await payments.readBalance()
    const { payment_request: bolt11 } = requireValue(await payments.receive())
    const answers = await repeat(10, (index) =>
      payments.send({ request: { bolt11 }, idempotency_key: `send-${index}`, ...endsAs('complete') }),
    )
    const sent = answers.map((answer) => requireValue(answer))
    expect(new Set(sent.map(({ id }) => id)).size).toBe(1)
    const address = { lightning_address: 'someone@example.com', amount: '700' }
    const failing = requireValue(await payments.send({ address, ...endsAs('fail') }))
    const paying = requireValue(await payments.send({ address, ...endsAs('complete') }))
    expect((await payments.waitForEnd(failing.id)).status).toBe('FAILED')
    for (const { id } of [paying, ...sent.slice(0, 1)])
      expect(await payments.waitForEnd(id)).toMatchObject({ status: 'COMPLETED', direction: 'SEND' })
    expect(BigInt((await payments.readBalance()).sent)).toBe(BigInt(before.sent) + 1700n)
  })

  it('refuses inputs beyond their limits', async () => {
    const inputs = [
      { amount: '0' },
      { amount: '0.5' },
      { description: 'a'.repeat(641) },
      { expires_in_seconds: 2_592_001 },
      { idempotency_key: '' },
      { metadata: '[1]' },
      { metadata: JSON.stringify({ note: 'a'.repeat(2048) }) },
    ]
    for (const input of inputs) expect(readRefusalCode(await payments.receive(input))).toBe(INVALID)
    for (const description of ['a'.repeat(640), 'ß'.repeat(640), '₿'.repeat(640)])
      requireValue(await payments.receive({ description }))
    const { payment_request: bolt11 } = requireValue(await payments.receive())
    const address = { lightning_address: 'someone@example.com', amount: '1' }
    expect(readRefusalCode(await payments.send({ request: { bolt11 }, address }))).toBe(INVALID)
  })

  it('refuses a key for operations that need the dashboard, another permission or another team', async () => {
    const keyInput = {
      name: 'copy',
      environment_id: sandbox.environmentId,
      permissions: [{ resource: 'PAYMENTS', level: 'READ' }],
    }
    // Keys are managed with a Bearer token only, and this request has none.
    const managed = await payments.call(CREATE_KEY_MUTATION, { input: keyInput }, 'service_api_key.create')
    const live = await payments.call(
      CREATE_ENVIRONMENT_MUTATION,
      { input: { name: 'live', type: 'LIVE' } },
      'payment.environment.create',
    )
    const reader = createPaymentsClient(cluster, sandbox, await issueServiceKey(cluster, sandbox, keyInput))
    const unknown = createPaymentsClient(cluster, sandbox, { id: '', key: 'unknown' })
    expect([managed, live, await reader.receive(), await unknown.receive()].map((answer) => readRefusalCode(answer))).toEqual([
      'UNAUTHENTICATED',
      'FORBIDDEN',
      'FORBIDDEN',
      'UNAUTHENTICATED',
    ])
    const other = await openSandbox(cluster)
    const foreign = createPaymentsClient(cluster, sandbox, await issueServiceKey(cluster, other))
    expect(readRefusalCode(await foreign.receive())).toBe(INVALID)
    const credentials = [{ resource: 'WALLET_CREDENTIALS', level: 'READ' }]
    await expect(issueServiceKey(cluster, sandbox, { permissions: credentials })).rejects.toThrow(INVALID)
  })

  it('ends transactions as their callers asked although all processes of payments and a gateway are killed', async () => {
    const behaviors = ['complete', 'fail'] as const
    const request = (index: number) =>
      payments.receive({ idempotency_key: `killed-${index}`, ...endsAs(behaviors[index % 2] ?? 'fail') })
    const created = (await repeat(20, request)).map((answer) => requireValue(answer))
    expect((await payments.find(created.at(-1)?.id ?? '')).status).toBe('PENDING')
    const findAll = (name: string) => cluster.processes().filter((one) => one.name === name)
    await restart([...findAll('payments'), ...findAll('gateway').slice(0, 1)])
    const ended: Transaction[] = []
    // One wait after the other, because each polls, and the requests of a key are limited.
    for (const { id } of created) ended.push(await payments.waitForEnd(id))
    expect(ended.map(({ status }) => status)).toEqual(created.map((_, index) => (index % 2 === 0 ? 'COMPLETED' : 'FAILED')))
    const repeated = (await repeat(created.length, request)).map((answer) => requireValue(answer))
    expect(repeated.map(({ payment_request: invoice }) => invoice)).toEqual(
      created.map(({ payment_request: invoice }) => invoice),
    )
  })
  /** Kills processes, and waits until the supervisor has started each of them again. */
  const restart = async (killed: readonly RunningProcess[]): Promise<void> => {
    const pids = killed.map(({ pid }) => pid ?? assert.fail('a process does not run'))
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    for (const [index, one] of killed.entries())
      await waitUntil(
        `${one.name} runs again`,
        async () => one.pid !== undefined && one.pid !== pids[index] && (await isReady(one)),
        RESTART_TIMEOUT_MS,
        100,
      )
  }
  const isReady = ({ healthUrl }: RunningProcess): Promise<boolean> =>
    fetch(`${healthUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )

  it('lists transactions by pages, newest first, the same at every gateway', async () => {
    await repeat(8, () => payments.receive())
    const all = requireValue(await payments.list({ page: { limit: 100 } }))
    expect(all.list.length).toBe(all.total_count)
    expect(all.list.map(({ created_at: at }) => at)).toEqual(
      all.list
        .map(({ created_at: at }) => at)
        .toSorted()
        .toReversed(),
    )
    const pages = await repeat(CONNECTIONS, (index) => payments.list({ page: { limit: 3, offset: index % 2 === 0 ? 0 : 3 } }))
    for (const [index, page] of pages.entries()) {
      const { total_count: total, list } = requireValue(page)
      expect(total).toBe(all.total_count)
      expect(list).toEqual(index % 2 === 0 ? all.list.slice(0, 3) : all.list.slice(3, 6))
    }
    expect(readRefusalCode(await payments.list({ page: { limit: 101 } }))).toBe(INVALID)
  })

  it('refuses the next call of a revoked key at every gateway', async () => {
    const revoked = await issueServiceKey(cluster, sandbox)
    const client = createPaymentsClient(cluster, sandbox, revoked)
    const before = await repeat(CONNECTIONS, () => client.list())
    expect(before.map((answer) => readRefusalCode(answer))).toEqual(before.map(() => undefined))
    await revokeServiceKey(cluster, sandbox, revoked)
    const after = await repeat(CONNECTIONS, () => client.list())
    expect(after.map((answer) => readRefusalCode(answer))).toEqual(after.map(() => 'UNAUTHENTICATED'))
  })

  it('counts the requests of a service API key over all gateways, and those of another key apart', async () => {
    const answers = await repeat(SERVICE_KEY_PER_MINUTE + CONNECTIONS, () => payments.list())
    expect(answers.filter(({ status }) => status === 200).length).toBe(SERVICE_KEY_PER_MINUTE)
    expect(answers.filter(({ status }) => status === 429).length).toBe(CONNECTIONS)
    const other = createPaymentsClient(cluster, sandbox, await issueServiceKey(cluster, sandbox))
    expect((await other.list()).status).toBe(200)
  })

  it('counts the requests of a user over all gateways', async () => {
    // The sign-up belongs to no user yet, so it is not counted here.
    const token = await signUp(cluster)
    const answers = await repeat(DASHBOARD_PER_MINUTE + CONNECTIONS, () =>
      sendGraphql(cluster.url, KEYS_QUERY, { id: sandbox.environmentId }, token, { connection: 'close' }),
    )
    // The environment belongs to another team, so an admitted request is refused as if the environment did not exist.
    expect(answers.filter(({ status }) => status === 429).length).toBe(CONNECTIONS)
    expect(answers.filter(({ status }) => status === 200).length).toBe(DASHBOARD_PER_MINUTE)
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const body = JSON.stringify({ query: '{ account { me { id } } }' })
    const limited = await fetch(`${cluster.url}/graphql`, { method: 'POST', headers, body })
    expect(limited.status).toBe(429)
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})
