import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clusterSkipReason, startCluster, type TestCluster } from '../support/cluster.ts'
import { sendGraphql } from '../support/market-client.ts'
import {
  createPaymentsClient,
  endsAs,
  issueServiceKey,
  openSandbox,
  type PaymentsClient,
  readRefusalCode,
  requireValue,
  revokeServiceKey,
  type Sandbox,
  type ServiceKey,
  signUp,
} from '../support/payments-client.ts'

// CI has to run every test, so CI without Java or Maven is an error.
if (clusterSkipReason !== undefined && process.env['CI'] !== undefined) throw new Error(clusterSkipReason)

/** The kernel distributes connections among the gateways. With this number, each of the two gateways receives at least one. */
const CONNECTIONS = 12
/** Requests per minute of a user at the dashboard, over all gateways. */
const DASHBOARD_PER_MINUTE = 40
const IN_PROGRESS = 'A request with this idempotency_key is already in progress'
const KEYS_QUERY = 'query ($id: String!) { service_api_keys { get_many(environment_id: $id) { id active } } }'

describe.skipIf(clusterSkipReason !== undefined)('payments on a cluster with two replicas per service', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-payments-'))
  let cluster: TestCluster
  let sandbox: Sandbox
  let serviceKey: ServiceKey
  let payments: PaymentsClient
  beforeAll(async () => {
    const env = { PENSTOCK_DASHBOARD_PER_MINUTE: `${DASHBOARD_PER_MINUTE}` }
    cluster = await startCluster(dataDir, { replicas: 2, env })
    sandbox = await openSandbox(cluster)
    serviceKey = await issueServiceKey(cluster, sandbox)
    payments = createPaymentsClient(cluster, sandbox, serviceKey)
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
    for (const { input, status, event, settled } of cases) {
      const created = requireValue(await payments.receive(input))
      expect(created).toMatchObject({ status: 'PENDING', direction: 'RECEIVE', amount: { full_amount: '1000' } })
      expect(created.payment_request).toMatch(/^lnbcrt/)
      const ended = await payments.waitForEnd(created.id)
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
    expect(readRefusalCode(await payments.list({ page: { limit: 101 } }))).toBe('GRAPHQL_VALIDATION_FAILED')
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

  it('counts the requests of a user over all gateways', async () => {
    // The sign-up belongs to no user yet, so it is not counted here.
    const token = await signUp(cluster)
    const answers = await repeat(DASHBOARD_PER_MINUTE + CONNECTIONS, () =>
      sendGraphql(cluster.url, KEYS_QUERY, { id: sandbox.environmentId }, token, { connection: 'close' }),
    )
    // The environment belongs to another team, so an admitted request is refused as if the environment did not exist.
    expect(answers.filter(({ status }) => status === 429).length).toBe(CONNECTIONS)
    expect(answers.filter(({ status }) => status === 200).length).toBe(DASHBOARD_PER_MINUTE)
  })
})
