import { mutantsOf } from '../mutant.ts'

const src = 'services/accounts/src'
const gateway = 'services/gateway/src'

export const accounts = mutantsOf('accounts', [
  {
    id: 'node-of-two-accounts',
    wrong: 'A node is connected to a second account: somebody else sells in its name.',
    file: `${src}/claims.ts`,
    text: `type: accountId === null ? 'NodeClaimed' : 'NodeClaimRefused'`,
    instead: `type: accountId === '' ? 'NodeClaimRefused' : 'NodeClaimed'`,
    killers: [`${src}/claims.test.ts`],
  },
  {
    id: 'log-in-replayed',
    wrong: 'A signed challenge opens the account as often as it is shown: whoever saw it once has the account.',
    file: `${src}/account.decide.ts`,
    text: `at < challengeExpiresAt && !account.usedLoginChallenges.includes(challenge)`,
    instead: `at < challengeExpiresAt`,
    killers: [`${src}/account.test.ts`],
  },
  {
    id: 'revoked-key-opens',
    wrong: 'A revoked credential still opens: a stolen key cannot be stopped.',
    file: `${gateway}/callers.ts`,
    text: `if (!row || row.revoked === 1 || `,
    instead: `if (!row || `,
    killers: [`${gateway}/callers.test.ts`],
  },
  {
    id: 'expired-key-opens',
    wrong: 'A credential opens after its time: what its owner believes to be over is not.',
    file: `${gateway}/callers.ts`,
    text: `row.expires_at <= gateway.clock.now()`,
    instead: `row.expires_at <= 0`,
    killers: [`${gateway}/callers.test.ts`],
  },
  {
    id: 'revoked-key-revoked-in-the-list-only',
    wrong: 'Revoking an API key marks it in the list and leaves its credential: it goes on opening the account.',
    file: `${gateway}/views/accounts.ts`,
    text: `      await db.updateTable('gateway_credentials').set({ revoked: 1 }).where('api_key_id', '=', data.keyId).execute()\n`,
    instead: ``,
    killers: [`${gateway}/operations/accounts.test.ts`],
  },
  {
    id: 'order-key-lists-all-orders',
    wrong: 'The key of one order lists every order of its account: whoever was given one sees all.',
    file: `${gateway}/read/orders.ts`,
    text: `.$if(only !== null, (query) => query.where('id', '=', only))`,
    instead: `.$if(only === '', (query) => query.where('id', '=', only))`,
    killers: [`${gateway}/callers.test.ts`],
  },
  {
    id: 'orders-not-begun-uncounted',
    wrong: 'Orders that were asked for and have not begun do not count: a burst of them passes every limit.',
    file: `${gateway}/operations/slots.ts`,
    text: `return Number(open) + Number(begun)`,
    instead: `return Number(open) + 0 * Number(begun)`,
    killers: [`${gateway}/operations/slots.test.ts`],
  },
])
