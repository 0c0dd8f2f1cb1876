import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { addSeller, BUYER_PUBKEY, lspHarness, makeOrderBody, postOrder, useLspHarness } from './lsps1/lsps1.fixture.ts'

const ACCOUNT = '20000000-0000-4000-8000-000000000001'
const SOURCE_FILE = /gateway\/src\/([\w/-]+)\.ts:/

/** The first file of each GraphQL request. Apollo calls the resolvers, and not every stack shows its caller. */
const ENTRY_OF_GRAPHQL = 'http/graphql-routes'

/** The files of the gateway that wait while a command is sent, outermost first. */
let pathOfCommand: readonly string[] = []

const { stackTraceLimit } = Error
beforeEach(() => void (Error.stackTraceLimit = 100))
afterEach(() => void (Error.stackTraceLimit = stackTraceLimit))
useLspHarness()

/** Records the path of each command, and lets the request end by a refusal. */
const refuseCommands = () =>
  lspHarness.respondWith((ask, options) => {
    const files = (new Error('stack').stack ?? '').split('\n').flatMap((line) => SOURCE_FILE.exec(line)?.[1] ?? [])
    pathOfCommand = [...new Set(files.toReversed())].filter((file) => file !== ENTRY_OF_GRAPHQL)
    return lspHarness.projectOutcome(ask, options, { code: 'TEST', message: 'refused' })
  })

test('a mutation passes four files from HTTP to its command', async () => {
  const key = await lspHarness.apiKey(ACCOUNT)
  refuseCommands()
  await lspHarness.gql(`mutation { account { node { challenge(pubkey: "${BUYER_PUBKEY}") } } }`, {}, key)
  assert.deepEqual(pathOfCommand, ['http/graphql/resolvers', 'account/use-cases/challenge-node', 'commands/commands'])
})

test('a purchase passes four files from HTTP to its command', async () => {
  refuseCommands()
  const input = { connection_uri: `${BUYER_PUBKEY}@10.0.0.7:9735`, usd_cents: '500' }
  await lspHarness.gql('mutation B($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { id } } }', { input })
  assert.deepEqual(pathOfCommand, ['http/graphql/resolvers', 'market/use-cases/buy-liquidity', 'market/purchase/place-order'])
})

test('an order by LSPS1 passes three files from HTTP to its command', async () => {
  await addSeller(1)
  refuseCommands()
  await postOrder(makeOrderBody())
  assert.deepEqual(pathOfCommand, ['lsps1/routes', 'lsps1/create-order', 'market/purchase/place-order'])
})
