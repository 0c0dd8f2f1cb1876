import { supportedAssets } from '@penstock/contracts/payments/assets.ts'
import { anyone } from '../../access.ts'
import type { PublicAssetQueriesSupportedArgs } from '../../generated/schema-types.ts'
import { describeList, parsePage } from '../../list-page.ts'
import { noInput, query } from '../../use-case.ts'
import { toBitcoinAssetRecord } from '../records/asset-record.ts'

/** Lists the assets that a wallet can hold, a page at a time. */
export const getSupportedAssets = query({
  path: 'public.assets.supported',
  access: anyone,
  input: ({ input }: PublicAssetQueriesSupportedArgs) => parsePage(input?.page),
  run: async (page) => ({
    ...describeList('public.assets.supported', page),
    total_count: supportedAssets.length,
    list: supportedAssets.slice(page.offset, page.offset + page.limit).map(toBitcoinAssetRecord),
  }),
})

/** Lists the same assets in the form that clients of Taproot Assets expect. */
export const getTaprootAssets = query({
  path: 'taproot_assets.list',
  access: anyone,
  input: noInput,
  run: async () =>
    supportedAssets.map(({ id, symbol, precision, type }) => ({ id, symbol, precision, type, group_key: null, universe: null })),
})
