/** Admits a seller of a demonstration to the rails cluster, as its operator. @throws Error with what the market answered */
export async function grantRails(market: { readonly url: string; readonly token: string }, pubkey: string): Promise<void> {
  const response = await fetch(`${market.url}/operator/sellers/grant`, {
    method: 'POST',
    headers: { authorization: `Bearer ${market.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ pubkey, reason: 'Seller of the demonstration.' }),
  })
  if (!response.ok) throw new Error(`the grant was answered with HTTP ${response.status}: ${await response.text()}`)
}
