import { createMutants } from '../mutant.ts'

const src = 'services/accounts/src'
const gateway = 'services/gateway/src'

export const accountsMutants = createMutants('accounts', [
  {
    id: 'node-of-two-accounts',
    description: 'A node is connected to a second account: another person sells under the name of the node.',
    file: `${src}/claims.ts`,
    text: `type: accountId === null ? 'NodeClaimed' : 'NodeClaimRefused'`,
    replacement: `type: accountId === '' ? 'NodeClaimRefused' : 'NodeClaimed'`,
  },
  {
    id: 'log-in-replayed',
    description: 'A signed challenge works for any number of log-ins: everybody who saw it once can enter the account.',
    file: `${src}/account.decide.ts`,
    text: 'at < challengeExpiresAt && !account.usedLoginChallenges.includes(challenge)',
    replacement: 'at < challengeExpiresAt',
  },
  {
    id: 'revoked-key-opens',
    description: 'A revoked credential is still accepted: a stolen key cannot be stopped.',
    file: `${gateway}/account/authenticate.ts`,
    text: 'if (!row || row.revoked === 1 || ',
    replacement: 'if (!row || ',
    killers: [`${gateway}/access.test.ts`],
  },
  {
    id: 'expired-key-opens',
    description: 'A credential is accepted after its expiry: its owner believes that it no longer works.',
    file: `${gateway}/account/authenticate.ts`,
    text: 'row.expires_at <= gateway.clock.now()',
    replacement: 'row.expires_at <= 0',
    killers: [`${gateway}/access.test.ts`],
  },
  {
    id: 'revoked-key-revoked-in-the-list-only',
    description: 'Revoking an API key only marks it in the list: its credential still opens the account.',
    file: `${gateway}/account/views/accounts.ts`,
    text: `      await db.updateTable('gateway_credentials').set({ revoked: 1 }).where('api_key_id', '=', data.keyId).execute()\n`,
    replacement: '',
    killers: [`${gateway}/account/use-cases/accounts.test.ts`],
  },
  {
    id: 'order-key-lists-all-orders',
    description: 'The key of one order lists every order of its account: everybody with that key sees all orders.',
    file: `${gateway}/market/read/orders.ts`,
    text: `.$if(only !== null, (query) => query.where('id', '=', only))`,
    replacement: `.$if(only === '', (query) => query.where('id', '=', only))`,
    killers: [`${gateway}/access.test.ts`],
  },
  {
    id: 'orders-not-begun-uncounted',
    description: 'Requested orders that have not begun do not count: a burst of requests exceeds every limit.',
    file: `${gateway}/market/purchase/order-quota.ts`,
    text: 'return Number(open) + Number(begun)',
    replacement: 'return Number(open) + 0 * Number(begun)',
  },
])
