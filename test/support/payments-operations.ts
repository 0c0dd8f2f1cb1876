/** The operations of payments that tests send. */

export const CREATE_ENVIRONMENT_MUTATION =
  'mutation ($input: CreatePaymentsEnvironmentInput!) { payment { environment { create(input: $input) { id } } } }'
export type CreateEnvironmentData = { readonly payment: { readonly environment: { readonly create: { readonly id: string } } } }

export const WALLETS_QUERY =
  'query ($input: FindManyWalletsInput!) { payment { wallet { find_many(input: $input) { list { id } } } } }'
export type WalletsData = {
  readonly payment: { readonly wallet: { readonly find_many: { readonly list: readonly { readonly id: string }[] } } }
}

export const BALANCE_QUERY =
  'query ($id: String!) { payment { wallet { find_one(id: $id) { balance { balance received sent } } } } }'
export type BalanceData = {
  readonly payment: { readonly wallet: { readonly find_one: { readonly balance: WalletBalance } } }
}
/** Amounts in base units of the wallet's asset. */
export type WalletBalance = { readonly balance: string; readonly received: string; readonly sent: string }

const TRANSACTION_FIELDS = '{ id payment_request payment_hash }'
export const CREATE_RECEIVE_MUTATION = `mutation ($input: CreateReceiveTransactionInput!) { payment { transaction {
  created: create_receive(input: $input) ${TRANSACTION_FIELDS} } } }`
export const CREATE_SEND_MUTATION = `mutation ($input: CreateSendTransactionInput!) { payment { transaction {
  created: create_send(input: $input) ${TRANSACTION_FIELDS} } } }`
/** The answer of both operations. */
export type CreateTransactionData = {
  readonly payment: { readonly transaction: { readonly created: CreatedTransaction } }
}
export type CreatedTransaction = { readonly id: string; readonly payment_request: string; readonly payment_hash: string }

export const FIND_TRANSACTION_QUERY = 'query ($id: String!) { payment { transaction { find_one(id: $id) { status } } } }'
export type FindTransactionData = {
  readonly payment: { readonly transaction: { readonly find_one: { readonly status: string } } }
}
