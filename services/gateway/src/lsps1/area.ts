import type { Area } from '../area.ts'
import { publishedSellerMigrations } from './published-seller-table.ts'

/** LSPS1 has routes of its own instead of GraphQL; see `routes.ts`. It sells from the read models of the market. */
export const lsps1Area: Area = { migrations: [publishedSellerMigrations] }
