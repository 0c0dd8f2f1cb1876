import { ask, type SimNode, simNodes } from '../../test/harness/buyer.ts'
import type { Product } from '../../test/harness/product.ts'

const CHALLENGE = 'mutation ($pubkey: String!) { account { login_challenge(pubkey: $pubkey) } }'
const LOGIN = 'mutation ($input: LoginInput!) { account { login(input: $input) { token } } }'
const BOOK = 'query ($page: PageInput) { market { offer { offers(page: $page) { list { id pubkey } } } } }'
const UPDATE = 'mutation ($input: UpdateOfferInput!) { market { offer { update(input: $input) { offer_id } } } }'

/** More than can ever be sold here. A sale uses its offer up, also where the channel is closed and the coins are back. */
const TOTAL_SAT = 1_000_000_000_000n

type Login = { readonly account: { readonly login: { readonly token: string } } }
type Challenge = { readonly account: { readonly login_challenge: string } }
type Book = { readonly market: { readonly offer: { readonly offers: { readonly list: readonly Offer[] } } } }
type Offer = { readonly id: string; readonly pubkey: string }

/** Makes the offers of all sellers so large that they last, as the sellers themselves would. @throws Error with a refusal */
export async function enlargeOffers(product: Product): Promise<void> {
  const { list } = (await ask<Book>(product, BOOK, { page: { limit: 100 } })).market.offer.offers
  for (const seller of (await simNodes(product)).filter(({ role }) => role === 'seller')) {
    const token = await logIn(product, seller)
    const own = list.filter(({ pubkey }) => pubkey === seller.pubkey)
    if (own.length === 0) throw new Error(`${seller.alias} offers nothing`)
    for (const { id } of own) await ask(product, UPDATE, { input: { offer_id: id, total_size: `${TOTAL_SAT}` } }, token)
  }
}

async function logIn(product: Product, { alias, pubkey }: SimNode): Promise<string> {
  const challenge = (await ask<Challenge>(product, CHALLENGE, { pubkey })).account.login_challenge
  const { signature } = await product.operator<{ signature: string }>('POST', '/sim/sign', { alias, text: challenge })
  return (await ask<Login>(product, LOGIN, { input: { pubkey, challenge, signature } })).account.login.token
}
