/** The operations of buyers and sellers that tests and benchmarks send. */

export const BUY_MUTATION = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { session_key } order { transaction_id } payment { lightning_invoice } } } }`
export type BuyMutationData = { readonly liquidity: { readonly buy: Bought<{ readonly lightning_invoice: string }> } }

/** Also returns the URL of the order's page and the price. */
export const PRICED_BUY_MUTATION = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { session_key } order { transaction_id } payment { lightning_invoice redirect_url amount { sats } } } } }`
export type PricedBuyMutationData = { readonly liquidity: { readonly buy: Bought<PricedPayment> } }

type Bought<Payment> = {
  readonly account: { readonly session_key: string }
  readonly order: { readonly transaction_id: string }
  readonly payment: Payment
}
type PricedPayment = {
  readonly lightning_invoice: string
  readonly redirect_url: string
  readonly amount: { readonly sats: string }
}

export const CANCEL_MUTATION = 'mutation ($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'
export const CREATE_ORDER_MUTATION =
  'mutation ($input: CreateManualOrderInput!) { market { order { create(input: $input) { id payment { lightning { invoice } } } } } }'
export const ACCEPT_MUTATION =
  'mutation ($input: SellerAcceptOrdersInput!) { market { order { seller { accept(input: $input) { success } } } } }'
export const REJECT_MUTATION =
  'mutation ($input: SellerRejectOrdersInput!) { market { order { seller { reject(input: $input) { success } } } } }'
export const ADD_TRANSACTION_MUTATION =
  'mutation ($input: SellerAddTransactionInput!) { market { order { seller { add_transaction(input: $input) { success } } } } }'
export const CREATE_OFFER_MUTATION =
  'mutation ($input: CreateOfferInput!) { market { offer { create(input: $input) { offer_id } } } }'
export const UPDATE_OFFER_MUTATION =
  'mutation ($input: UpdateOfferInput!) { market { offer { update(input: $input) { offer_id } } } }'
export const TOGGLE_OFFER_MUTATION =
  'mutation ($input: ToggleOfferInput!) { market { offer { toggle(input: $input) { offer_id } } } }'
export const ATTEST_MUTATION = 'mutation ($input: AttestInput!) { market { offer { attest(input: $input) { success } } } }'
export const CHALLENGE_MUTATION = 'mutation ($pubkey: String!) { account { node { challenge(pubkey: $pubkey) } } }'
export const CONNECT_MUTATION = 'mutation ($input: ConnectNodeInput!) { account { node { connect(input: $input) { success } } } }'
