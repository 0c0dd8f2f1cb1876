import { expect, test } from 'vitest'
import { findPagePath } from './load-market.ts'

test.each(['https://market.example/checkout/t-0_k', 'https://market.example/shop/checkout/t-0_k'])(
  'the page %s is requested at the path of the market under load',
  (url) => {
    expect(findPagePath(url)).toBe('/checkout/t-0_k')
  },
)
