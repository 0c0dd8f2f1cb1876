import { requestData, type SimulatedNode, listSimNodes } from '../../../test/support/market-client.ts'
import type { Product } from '../../../test/support/product.ts'
import { UPDATE_OFFER_MUTATION } from '../../../test/support/market-operations.ts'

const CHALLENGE = 'mutation ($pubkey: String!) { account { login_challenge(pubkey: $pubkey) } }'
const LOGIN = 'mutation ($input: LoginInput!) { account { login(input: $input) { token } } }'
const BOOK = 'query ($page: PageInput) { market { offer { offers(page: $page) { list { id pubkey } } } } }'

/** More than this run can sell. A sale reduces its offer permanently, even if the channel is closed later. */
const TOTAL_SAT = 1_000_000_000_000n

type Login = { readonly account: { readonly login: { readonly token: string } } }
type Challenge = { readonly account: { readonly login_challenge: string } }
type Book = { readonly market: { readonly offer: { readonly offers: { readonly list: readonly Offer[] } } } }
type Offer = { readonly id: string; readonly pubkey: string }

/** Enlarges all offers through the public API, so that no offer sells out during the run. @throws Error if the market refuses */
export async function enlargeOffers(product: Product): Promise<void> {
  const { list } = (await requestData<Book>(product, BOOK, { page: { limit: 100 } })).market.offer.offers
  for (const seller of (await listSimNodes(product)).filter(({ role }) => role === 'seller')) {
    const token = await logIn(product, seller)
    const own = list.filter(({ pubkey }) => pubkey === seller.pubkey)
    if (own.length === 0) throw new Error(`${seller.alias} has no offer`)
    for (const { id } of own)
      await requestData(product, UPDATE_OFFER_MUTATION, { input: { offer_id: id, total_size: `${TOTAL_SAT}` } }, token)
  }
}

async function logIn(product: Product, { alias, pubkey }: SimulatedNode): Promise<string> {
  const challenge = (await requestData<Challenge>(product, CHALLENGE, { pubkey })).account.login_challenge
  const { signature } = await product.operator<{ signature: string }>('POST', '/sim/sign', { alias, text: challenge })
  return (await requestData<Login>(product, LOGIN, { input: { pubkey, challenge, signature } })).account.login.token
}
