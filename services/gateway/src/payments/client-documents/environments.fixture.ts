import { ASSET, type ClientDocument, page, UNKNOWN_ID } from './client-document.fixture.ts'

const ENVIRONMENT = 'id name type wallet_count created_at updated_at'
const LIST = `fragment Entry on SimplePaymentsEnvironment { ${ENVIRONMENT} }`
const RECORD = `fragment Environment on PaymentsEnvironment { ${ENVIRONMENT} }`
const liveUrls = { success_url: 'https://shop.example/paid', cancel_url: 'https://shop.example/later' }

export const environmentDocuments: readonly ClientDocument[] = [
  {
    name: 'the id of the team',
    document: '{ payment { id } }',
    caller: 'service',
    path: 'payment.id',
  },
  {
    name: 'an environment, created with its own fields',
    document: `mutation Open($input: CreatePaymentsEnvironmentInput!) {
      payment { id environment { id create(input: $input) { ...Environment checkout_url } } }
    } ${RECORD}`,
    variables: () => ({ input: { name: 'second shop', type: 'SANDBOX' } }),
    caller: 'dashboard',
    path: 'payment.environment.create',
  },
  {
    name: 'an environment, created with its fields below environment',
    document: `mutation Open($name: String!, $type: PaymentsEnvironmentType!) {
      payment { environment { create(input: { name: $name, type: $type }) { id checkout_url environment { ...Environment } } } }
    } ${RECORD}`,
    variables: () => ({ name: 'third shop', type: 'SANDBOX' }),
    caller: 'service',
    path: 'payment.environment.create.environment',
  },
  {
    name: 'a live environment',
    document: `mutation Open($name: String!, $live: LivePaymentsEnvironmentInput) {
      payment { environment { create(input: { name: $name, type: LIVE, live: $live }) { id checkout_url environment { id type } } } }
    }`,
    variables: () => ({ name: 'shop', live: liveUrls }),
    caller: 'dashboard',
    path: 'payment.environment.create',
    servedWith: 'live wallets',
  },
  {
    name: 'an environment by its id',
    document: `query One($id: String!) { payment { environment { find_one(id: $id) { ...Environment } } } } ${RECORD}`,
    variables: ({ environmentId: id }) => ({ id }),
    caller: 'service',
    path: 'payment.environment.find_one',
  },
  {
    name: 'environments without input',
    document: `{ payment { id environment { id find_many { ${page('...Entry')} } } } } ${LIST}`,
    caller: 'dashboard',
    path: 'payment.environment.find_many.list.0',
  },
  {
    name: 'environments of a page',
    document: `query Page($page: PageInput) {
      payment { environment { find_many(input: { page: $page }) { ${page('...Entry')} } } }
    } ${LIST}`,
    variables: () => ({ page: { limit: 100, offset: 0 } }),
    caller: 'service',
    path: 'payment.environment.find_many.list.0',
  },
  {
    name: 'the deletion of an environment',
    document: 'mutation Close($id: String!) { payment { environment { delete(id: $id) } } }',
    variables: ({ environmentId: id }) => ({ id }),
    caller: 'dashboard',
    path: 'payment.environment.delete',
  },
  {
    name: 'assets that wallets may hold',
    document: `query Assets($input: SupportedAssetsInput) { public { id assets { id supported(input: $input) { ${page(ASSET)} } } } }`,
    variables: () => ({ input: { page: { limit: 20 } } }),
    caller: 'nobody',
    path: 'public.assets.supported.list.0',
  },
  {
    name: 'assets in the list of Taproot assets',
    document: '{ taproot_assets { id list { id symbol precision type group_key universe } } }',
    caller: 'nobody',
    path: 'taproot_assets.list.0',
  },
  {
    name: 'the keys of the team',
    document: '{ user { team { id encrypted_symmetric_key password_hash } } }',
    caller: 'dashboard',
    path: 'user.team',
    servedWith: 'live wallets',
  },
  {
    name: 'a new password of the team',
    document: `mutation Store($hash: String!, $key: String!) {
      user { store_team_password_and_keys(password_hash: $hash, encrypted_symmetric_key: $key) { id success } }
    }`,
    variables: () => ({ hash: 'a hash of Argon2id', key: 'a key in NIP-44' }),
    caller: 'dashboard',
    path: 'user.store_team_password_and_keys',
    servedWith: 'live wallets',
  },
  {
    name: 'a check of the password of the team',
    document: 'mutation Check($hash: String!) { user { check_team_password(password_hash: $hash) { id success } } }',
    variables: () => ({ hash: 'a hash of Argon2id' }),
    caller: 'dashboard',
    path: 'user.check_team_password',
    servedWith: 'live wallets',
  },
  {
    name: 'a node that the team connects',
    document: 'mutation Join($input: NodeConnectInput!) { node { connect(input: $input) { id node_id success } } }',
    variables: () => ({
      input: { lnd: { grpc: 'node.example:10009', rest: 'https://node.example:8080', management_macaroon: '00' } },
    }),
    caller: 'dashboard',
    path: 'node.connect',
    servedWith: 'live wallets',
  },
  {
    name: 'the admin macaroon of a node',
    document: 'mutation Store($input: StoreAdminCredentialsInput!) { credentials { store_admin(input: $input) } }',
    variables: () => ({
      input: { node_id: UNKNOWN_ID, encrypted_macaroon: 'in NIP-44', location: 'LND', macaroon_type: 'ADMIN', permissions: [] },
    }),
    caller: 'dashboard',
    path: 'credentials.store_admin',
    servedWith: 'live wallets',
  },
]
