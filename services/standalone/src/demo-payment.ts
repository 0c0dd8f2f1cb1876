import { createHmac } from 'node:crypto'
import { isSameSecret } from '@penstock/credentials/credentials.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'
import type { WebhookRequest } from '@penstock/ports/post-webhook.ts'
import { callGraphql, type PrintText } from './demo.ts'
import type { DemoReceiver } from './demo-receiver.ts'

const CREATE_ACCOUNT = 'mutation ($input: CreateAccountInput!) { account { create(input: $input) { token } } }'
const CREATE_ENVIRONMENT =
  'mutation ($input: CreatePaymentsEnvironmentInput!) { payment { environment { create(input: $input) { id } } } }'
const FIND_WALLETS = 'query ($input: FindManyWalletsInput!) { payment { wallet { find_many(input: $input) { list { id } } } } }'
const CREATE_ENDPOINT =
  'mutation ($input: CreateWebhookEndpointInput!) { payment { webhook_endpoint { create(input: $input) { id secret } } } }'
const DELETE_ENDPOINT = 'mutation ($id: String!) { payment { webhook_endpoint { delete(id: $id) } } }'
const CREATE_RECEIVE =
  'mutation ($input: CreateReceiveTransactionInput!) { payment { transaction { create_receive(input: $input) { id payment_request } } } }'

const EVENTS = ['payment.pending', 'payment.completed'] as const
const AMOUNT_SATS = '1000'
const WEBHOOKS_TIMEOUT_MS = 60_000
const POLL_MS = 50

type Shop = { readonly token: string; readonly environmentId: string; readonly walletId: string }
type Endpoint = { readonly id: string; readonly secret: string }
type Invoice = { readonly id: string; readonly payment_request: string }

export type PaymentDemonstration = {
  readonly url: string
  readonly receiver: DemoReceiver
  readonly clock: Clock
  readonly ids: Pick<Ids, 'uuid'>
  readonly say: PrintText
  readonly signal: AbortSignal
}

/** Creates an invoice in a new sandbox through the public API, and prints its webhooks. */
export async function demonstratePayment({ url, receiver, clock, ids, say, signal }: PaymentDemonstration): Promise<void> {
  say('A demonstration: a payment in a sandbox, with its webhooks.')
  const shop = await openShop(url, ids)
  const endpoint = await createEndpoint(url, shop, receiver.url)
  const invoice = await createInvoice(url, shop)
  say(`  invoice   ${AMOUNT_SATS} sat  ${invoice.payment_request.slice(0, 28)}…`)
  const startedMs = clock.monotonicMs()
  const areGenuine = () => EVENTS.every((type) => receiver.received.some((request) => reports(request, type, invoice, endpoint)))
  while (!signal.aborted && !areGenuine() && clock.monotonicMs() - startedMs < WEBHOOKS_TIMEOUT_MS)
    await clock.sleep(POLL_MS, signal)
  if (signal.aborted) return
  if (areGenuine()) say(`Paid: ${EVENTS.join(' and ')} reached the shop as webhooks, each with a valid signature.`)
  else say('  The webhooks did not arrive in time; the log says why.')
  // The receiver ends with this process, and nothing more is to be sent to it.
  await callGraphql(url, DELETE_ENDPOINT, { id: endpoint.id }, shop.token)
}

async function openShop(url: string, ids: Pick<Ids, 'uuid'>): Promise<Shop> {
  type Account = { account: { create: { token: string } } }
  const account = { email: `demo-${ids.uuid()}@example.invalid`, password: ids.uuid() }
  const { token } = (await callGraphql<Account>(url, CREATE_ACCOUNT, { input: account })).account.create
  type Environment = { payment: { environment: { create: { id: string } } } }
  const sandbox = { name: 'demonstration', type: 'SANDBOX' }
  const { payment } = await callGraphql<Environment>(url, CREATE_ENVIRONMENT, { input: sandbox }, token)
  const environmentId = payment.environment.create.id
  type Wallets = { payment: { wallet: { find_many: { list: readonly { id: string }[] } } } }
  const found = await callGraphql<Wallets>(url, FIND_WALLETS, { input: { environment_id: environmentId } }, token)
  const [wallet] = found.payment.wallet.find_many.list
  if (!wallet) throw new Error('the sandbox has no wallet')
  return { token, environmentId, walletId: wallet.id }
}

async function createEndpoint(url: string, { token, environmentId }: Shop, target: string): Promise<Endpoint> {
  type Created = { payment: { webhook_endpoint: { create: Endpoint } } }
  const input = { environment_id: environmentId, url: target }
  return (await callGraphql<Created>(url, CREATE_ENDPOINT, { input }, token)).payment.webhook_endpoint.create
}

async function createInvoice(url: string, { token, walletId }: Shop): Promise<Invoice> {
  type Created = { payment: { transaction: { create_receive: Invoice } } }
  const metadata = JSON.stringify({ svc_sandbox_behavior: 'complete' })
  const input = { wallet_id: walletId, amount: AMOUNT_SATS, description: 'coffee', metadata }
  return (await callGraphql<Created>(url, CREATE_RECEIVE, { input }, token)).payment.transaction.create_receive
}

/** Tells whether a request is the webhook of an event, signed with the endpoint's secret. */
function reports({ headers, body }: WebhookRequest, type: string, { id }: Invoice, { secret }: Endpoint): boolean {
  const expected = createHmac('sha256', secret).update(`${headers['x-webhook-timestamp']}.${body}`).digest('hex')
  if (!isSameSecret(expected, headers['x-webhook-signature'] ?? '')) return false
  return (JSON.parse(body) as { readonly id: string }).id === `${type}:${id}` // the shape of every webhook
}
