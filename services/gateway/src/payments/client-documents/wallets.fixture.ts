import { ASSET, type ClientDocument, page } from './client-document.fixture.ts'

const ENTRY = `id name asset_id asset { ${ASSET} } environment_id is_ready created_at updated_at`
const LIST = `fragment Entry on SimplePaymentsWallet { ${ENTRY} }`
const WALLET = `${ENTRY} team_id environment { id name type wallet_count created_at updated_at } balance { id balance received sent }`
const RECORD = `fragment Wallet on PaymentsWallet { ${WALLET} }`
const KEY =
  'id name key_prefix key_suffix active last_used_at expires_at environment_id wallet_id node_id created_at permissions { id resource level }'

export const walletDocuments: readonly ClientDocument[] = [
  {
    name: 'a wallet, created',
    document: `mutation Add($input: CreatePaymentsWalletInput!) { payment { wallet { create(input: $input) { ...Wallet } } } } ${RECORD}`,
    variables: ({ environmentId, btc }) => ({ input: { name: 'till', environment_id: environmentId, asset_id: btc } }),
    caller: 'service',
    path: 'payment.wallet.create',
  },
  {
    name: 'a wallet by its id',
    document: `query One($id: String!) { payment { id wallet { id find_one(id: $id) { ...Wallet } } } } ${RECORD}`,
    variables: ({ walletId: id }) => ({ id }),
    caller: 'service',
    path: 'payment.wallet.find_one',
  },
  {
    name: 'wallets without input',
    document: `{ payment { wallet { find_many { ${page('...Entry')} } } } } ${LIST}`,
    caller: 'service',
    path: 'payment.wallet.find_many.list.0',
  },
  {
    name: 'wallets of an environment',
    document: `query Wallets($input: FindManyWalletsInput!) { payment { wallet { find_many(input: $input) { ${page('...Entry')} } } } } ${LIST}`,
    variables: ({ environmentId }) => ({ input: { environment_id: environmentId, page: { limit: 10, offset: 0 } } }),
    caller: 'dashboard',
    path: 'payment.wallet.find_many.list.0',
  },
  {
    name: 'wallets of an environment that is named at the list',
    document: `query Wallets($environment: String) {
      payment { wallet { find_many { id total_count pagination { limit offset } list(environment_id: $environment) { ...Entry } } } }
    } ${LIST}`,
    variables: ({ environmentId }) => ({ environment: environmentId }),
    caller: 'service',
    path: 'payment.wallet.find_many.list.0',
  },
  {
    name: 'the deletion of a wallet',
    document: 'mutation Remove($id: String!) { payment { wallet { delete(id: $id) } } }',
    variables: ({ walletId: id }) => ({ id }),
    caller: 'service',
    path: 'payment.wallet.delete',
  },
  {
    name: 'the nodes of a wallet',
    document:
      'query Nodes($id: String!) { payment { wallet { find_one(id: $id) { id nodes { id alias pubkey state type } } } } }',
    variables: ({ walletId: id }) => ({ id }),
    caller: 'service',
    path: 'payment.wallet.find_one',
    servedWith: 'live wallets',
  },
  {
    name: 'the credentials of the nodes of a wallet',
    document: `query Credentials($id: String!, $hash: String) {
      payment { wallet { find_one(id: $id) { id node_permissions(password_hash: $hash) {
        id encrypted_symmetric_key
        nodes { id node_id macaroon_id network encrypted_macaroon tls_cert sockets { id lnd { id rest } litd { id rest } } }
      } } } }
    }`,
    variables: ({ walletId: id }) => ({ id, hash: 'a hash of Argon2id' }),
    caller: 'service',
    path: 'payment.wallet.find_one.node_permissions',
    servedWith: 'live wallets',
  },
  {
    name: 'a key, issued',
    document: `mutation Issue($input: CreateServiceApiKeyInput!) {
      service_api_key { id create(input: $input) { id plaintext_key key { ${KEY} } } }
    }`,
    variables: ({ environmentId, walletId }) => ({
      input: {
        name: 'till',
        environment_id: environmentId,
        wallet_id: walletId,
        expires_at: '2027-01-01T00:00:00.000Z',
        permissions: [
          { resource: 'WALLETS', level: 'READ' },
          { resource: 'WALLET_CREDENTIALS', level: 'READ' },
        ],
      },
    }),
    caller: 'dashboard',
    path: 'service_api_key.create.key',
  },
  {
    name: 'a key, issued with its permissions in a variable',
    document: `mutation Issue($environment: String!, $permissions: [ServiceApiKeyPermissionInput!]!) {
      service_api_key { create(input: { name: "reader", environment_id: $environment, permissions: $permissions }) { plaintext_key key { id } } }
    }`,
    variables: ({ environmentId }) => ({ environment: environmentId, permissions: [{ resource: 'WEBHOOKS', level: 'WRITE' }] }),
    caller: 'dashboard',
    path: 'service_api_key.create.plaintext_key',
  },
  {
    name: 'a key, issued with one permission of typed enums',
    document: `mutation Issue($environment: String!, $resource: ServiceApiKeyPermissionResource!, $level: ServiceApiKeyPermissionLevel!) {
      service_api_key { create(input: { name: "one", environment_id: $environment, permissions: [{ resource: $resource, level: $level }] }) { id } }
    }`,
    variables: ({ environmentId }) => ({ environment: environmentId, resource: 'ENVIRONMENTS', level: 'READ' }),
    caller: 'dashboard',
    path: 'service_api_key.create.id',
  },
  {
    name: 'a key that is bound to a node',
    document:
      'mutation Issue($input: CreateServiceApiKeyInput!) { service_api_key { create(input: $input) { id key { id node_id } } } }',
    variables: ({ environmentId, walletId: node_id }) => ({
      input: { name: 'node', environment_id: environmentId, node_id, permissions: [{ resource: 'WALLETS', level: 'READ' }] },
    }),
    caller: 'dashboard',
    path: 'service_api_key.create',
    servedWith: 'live wallets',
  },
  {
    name: 'the keys of an environment',
    document: `query Keys($environment: String!) { service_api_keys { id get_many(environment_id: $environment) { ${KEY} } } }`,
    variables: ({ environmentId }) => ({ environment: environmentId }),
    caller: 'dashboard',
    path: 'service_api_keys.get_many.0',
  },
  {
    name: 'a new name of a key',
    document: `mutation Rename($id: String!, $input: UpdateServiceApiKeyInput!) { service_api_key { update(id: $id, input: $input) { ${KEY} } } }`,
    variables: ({ keyId: id }) => ({ id, input: { name: 'first till' } }),
    caller: 'dashboard',
    path: 'service_api_key.update',
  },
  {
    name: 'the revocation of a key',
    document: 'mutation Revoke($id: String!) { service_api_key { revoke(id: $id) { id active } } }',
    variables: ({ keyId: id }) => ({ id }),
    caller: 'dashboard',
    path: 'service_api_key.revoke',
  },
]
