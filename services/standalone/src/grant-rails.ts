/** Admits a seller of the demonstration to the rails cluster, as an operator does. @throws Error with the market's answer */
export async function grantRails(market: { readonly url: string; readonly token: string }, pubkey: string): Promise<void> {
  const response = await fetch(`${market.url}/operator/sellers/grant`, {
    method: 'POST',
    headers: { authorization: `Bearer ${market.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ pubkey, reason: 'Seller of the demonstration.' }),
  })
  if (!response.ok) throw new Error(`the grant was answered with HTTP ${response.status}: ${await response.text()}`)
}
