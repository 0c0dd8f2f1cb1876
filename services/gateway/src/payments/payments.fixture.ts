import { contractOf } from '@penstock/contracts/contracts.ts'
import type { EndpointCommand } from '@penstock/contracts/payments/endpoint.ts'
import type { EnvironmentCommand } from '@penstock/contracts/payments/environment.ts'
import { btcAsset } from '@penstock/contracts/payments/assets.ts'
import type { ReceiveCommand } from '@penstock/contracts/payments/receive.ts'
import type { SendCommand } from '@penstock/contracts/payments/send.ts'
import type { RecordedRate } from '@penstock/contracts/payments/shapes.ts'
import { hashCredential, newCredential } from '@penstock/credentials/credentials.ts'
import { createMutex } from '@penstock/kernel/mutex.ts'
import type { AddressedCommand } from '@penstock/kernel/process.ts'
import type { SendOptions } from '@penstock/runtime/service.ts'
import { graphql } from 'graphql'
import assert from 'node:assert/strict'
import type { ServiceCaller } from '../access.ts'
import {
  type FactInput,
  type GatewayHarnessOptions,
  type GraphqlResult,
  NOW,
  openGatewayHarness,
  readPath,
} from '../gateway-harness.fixture.ts'
import type { GraphqlContext } from '../http/graphql/context.ts'
import { schema } from '../http/graphql/schema.ts'
import { decideEndpoint } from './webhooks/decide-endpoint.fixture.ts'

export const TEAM = '70000000-0000-4000-8000-000000000001'
export const FOREIGN_TEAM = '70000000-0000-4000-8000-000000000002'
const RATE: RecordedRate = { centsPerBtc: '10000000', at: NOW }

export type GatewayPorts = Pick<GatewayHarnessOptions, 'log' | 'tracing' | 'webhookGuard'>
type Options = {
  readonly env?: Record<string, string>
  readonly rate?: RecordedRate
  readonly ports?: GatewayPorts
}
type SentData<C extends { readonly type: string; readonly data: object }, Type extends C['type']> = Extract<
  C,
  { readonly type: Type }
>['data']

/** Opens a gateway whose test answers in place of the payments service, as its contracts allow. */
export async function openPaymentsHarness({ env = {}, rate = RATE, ports = {} }: Options = {}) {
  const harness = await openGatewayHarness({ env: { PENSTOCK_DASHBOARD_PER_MINUTE: '0', ...env }, ...ports })
  const streams = new Set<string>()
  const claims = new Map<string, string>()
  /** The wallet and the payment hash of each send. */
  const hashes = new Map<string, { readonly walletId: string; readonly paymentHash: string }>()
  let seconds = 0

  /** Projects facts of one command, a second after the facts of the command before it. */
  const project = async (category: string, id: string, facts: readonly FactInput[], commandId?: string): Promise<void> => {
    for (const { type, data } of facts) contractOf(category).facts[type]?.schema.parse(data)
    seconds += 1
    await harness.projectFacts(category, id, facts, commandId, NOW + seconds * 1000)
  }
  const createEnvironment = async (id: string, data: SentData<EnvironmentCommand, 'CreateEnvironment'>, commandId: string) => {
    const { teamId, type: environmentType, firstWalletId } = data
    await project('environment', id, [{ type: 'EnvironmentCreated', data }], commandId)
    const wallet = { environmentId: id, environmentType, teamId, assetId: btcAsset.id, nameRecord: null }
    if (firstWalletId !== null) await project('wallet', firstWalletId, [{ type: 'WalletCreated', data: wallet }])
  }
  const requestReceive = async (id: string, data: SentData<ReceiveCommand, 'RequestReceive'>, commandId: string) => {
    const { issuedAt, expiresAt, ...request } = data
    const requested = { ...request, rate, outcomeAt: null }
    await project(
      'receive',
      id,
      [
        { type: 'ReceiveRequested', data: requested },
        { type: 'InvoiceIssued', data: { issuedAt, expiresAt } },
      ],
      commandId,
    )
  }
  const requestSend = async (id: string, data: SentData<SendCommand, 'RequestSend'>, commandId: string) => {
    const { invoice, ...request } = data
    hashes.set(id, { walletId: data.walletId, paymentHash: invoice.paymentHash })
    const requested = { ...request, rate, outcomeAt: null }
    await project(
      'send',
      id,
      [
        { type: 'SendRequested', data: requested },
        { type: 'InvoiceResolved', data: invoice },
      ],
      commandId,
    )
    const claim = `${data.walletId}:${invoice.paymentHash}`
    const ofSendId = claims.get(claim)
    if (ofSendId === undefined) claims.set(claim, id)
    await project('send', id, [
      ofSendId === undefined ? { type: 'HashClaimed', data: {} } : { type: 'HashTaken', data: { ofSendId } },
    ])
  }
  const answerEndpointCommand = async (ask: AddressedCommand, options: SendOptions) => {
    // The schema has just parsed the data of each command.
    const facts = await decideEndpoint(harness.gateway.views, ask.id, ask.command as EndpointCommand)
    return facts.length > 0 ? project('endpoint', ask.id, facts, options.commandId) : harness.projectOutcome(ask, options, null)
  }
  const runSerially = createMutex()
  harness.respondWith((ask, options) =>
    runSerially(async () => {
      const { category, id, command } = ask
      const data: object = contractOf(category).commands[command.type]?.schema.parse(command.data) ?? assert.fail(command.type)
      const stream = `${category}-${id}`
      if (command.type.startsWith('Request') && streams.has(stream)) return harness.projectOutcome(ask, options, null)
      streams.add(stream)
      const { commandId } = options
      if (category === 'endpoint') return answerEndpointCommand(ask, options)
      // The schema has just parsed the data of each command.
      switch (command.type) {
        case 'CreateEnvironment':
          return createEnvironment(id, data as SentData<EnvironmentCommand, 'CreateEnvironment'>, commandId)
        case 'DeleteEnvironment':
          return project(category, id, [{ type: 'EnvironmentDeleted', data }], commandId)
        case 'CreateWallet':
          return project(category, id, [{ type: 'WalletCreated', data }], commandId)
        case 'DeleteWallet':
          return project(category, id, [{ type: 'WalletDeleted', data }], commandId)
        case 'RequestReceive':
          return requestReceive(id, data as SentData<ReceiveCommand, 'RequestReceive'>, commandId)
        case 'RequestSend':
          return requestSend(id, data as SentData<SendCommand, 'RequestSend'>, commandId)
        case 'IssueKey':
          return project(category, id, [{ type: 'KeyIssued', data }], commandId)
        case 'RenameKey':
          return project(category, id, [{ type: 'KeyRenamed', data }], commandId)
        case 'RevokeKey':
          return project(category, id, [{ type: 'KeyRevoked', data }], commandId)
        default:
          return assert.fail(command.type)
      }
    }),
  )

  /** Creates a dashboard token of a team. */
  const logIn = async (team: string): Promise<string> => {
    const { pepper, ids } = harness.gateway
    const token = newCredential('pdt_', ids)
    const data = { tokenHash: hashCredential(pepper, token), expiresAt: NOW + 86_400_000 }
    await harness.projectFacts('account', team, [{ type: 'LoginRecorded', data }])
    return token
  }
  const token = await logIn(TEAM)

  /** Sends a document with the team's dashboard token, and reads the value at a path of its answer. */
  const call = async <T>(document: string, variables: object, path: string, bearer = token): Promise<T> => {
    const answer = await harness.gql(document, variables, bearer)
    assert.deepEqual(answer.errors, undefined)
    return readPath(answer, path) as T // The caller knows the shape of its selection.
  }
  return {
    harness,
    project,
    token,
    logIn,
    call,
    gql: (document: string, variables: object = {}, bearer = token): Promise<GraphqlResult> =>
      harness.gql(document, variables, bearer),
    /** Runs a document as the holder of a service API key. */
    callWithKey: async (service: ServiceCaller, source: string, variableValues: Record<string, unknown> = {}) => {
      const contextValue: GraphqlContext = {
        gateway: harness.gateway,
        authentication: { callers: { bearer: null, service }, refusal: null },
        ip: '127.0.0.1',
        isGet: false,
        runSerially: createMutex(),
        countedUses: new Map(),
        extensions: {},
      }
      return graphql({ schema, source, variableValues, contextValue })
    },
    createSandbox: async (
      name = 'shop',
      bearer = token,
    ): Promise<{ readonly environmentId: string; readonly walletId: string }> => {
      const environmentId = await call<string>(
        'mutation ($input: CreatePaymentsEnvironmentInput!) { payment { environment { create(input: $input) { id } } } }',
        { input: { name, type: 'SANDBOX' } },
        'payment.environment.create.id',
        bearer,
      )
      const walletId = await call<string>(
        'query ($input: FindManyWalletsInput!) { payment { wallet { find_many(input: $input) { list { id } } } } }',
        { input: { environment_id: environmentId } },
        'payment.wallet.find_many.list.0.id',
        bearer,
      )
      return { environmentId, walletId }
    },
    complete: (category: 'receive' | 'send', id: string, amount: bigint, feeMsat = 0n) =>
      project(category, id, [
        {
          type: category === 'receive' ? 'ReceiveCompleted' : 'SendCompleted',
          data: {
            amount: `${amount / 1000n}`,
            amountMsat: `${amount}`,
            settledAt: NOW + 5000,
            rate,
            ...(category === 'send' && { feeMsat: `${feeMsat}` }),
          },
        },
      ]),
    fail: (category: 'receive' | 'send', id: string) =>
      project(category, id, [
        category === 'receive'
          ? { type: 'ReceiveFailed', data: { reason: 'sandbox' } }
          : { type: 'SendFailed', data: { reason: 'sandbox', ...hashes.get(id) } },
      ]),
    expire: (category: 'receive' | 'send', id: string) =>
      project(
        category,
        id,
        category === 'receive'
          ? [
              { type: 'ReceiveExpiryReached', data: {} },
              { type: 'ReceiveExpired', data: {} },
            ]
          : [
              { type: 'SendExpiryReached', data: {} },
              { type: 'SendExpired', data: hashes.get(id) ?? {} },
            ],
      ),
    /** The commands of a type that the gateway has sent. */
    listSent: (type: string) =>
      harness.sent
        .filter(({ ask }) => ask.command.type === type)
        // The tests read fields that are texts.
        .map(({ ask }) => ({ id: ask.id, data: ask.command.data as Readonly<Record<string, string>> })),
  }
}
export type PaymentsHarness = Awaited<ReturnType<typeof openPaymentsHarness>>

export const RECEIVE =
  'mutation ($input: CreateReceiveTransactionInput!) { payment { transaction { create_receive(input: $input) { id status direction wallet_id payment_request payment_hash expires_at idempotency_key description metadata amount_sats amount { full_amount display_amount value { usd_value } asset { symbol precision } } } } } }'
export const SEND =
  'mutation ($input: CreateSendTransactionInput!) { payment { transaction { create_send(input: $input) { id status direction payment_request payment_hash expires_at amount { full_amount } } } } }'
export const FIND_ONE =
  'query ($id: String, $lightning: FindTransactionByLightningInput) { payment { transaction { find_one(id: $id, lightning: $lightning) { id status fee settled_at error exchange_rate node_id preimage settle_amount_sats settle_amount { full_amount value { usd_value } } events { event_type message details created_at } } } } }'
