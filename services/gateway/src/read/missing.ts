import type { Views } from '@penstock/ports/views.ts'
import type { GraphQLError } from 'graphql'
import { orderNotFound, orderUnread } from '../errors.ts'
import { isUnread } from './orders.ts'

/** What is said of an order that is not there for whoever asks. */
export const missing = async (views: Pick<Views, 'db'>, orderId: string): Promise<GraphQLError> =>
  (await isUnread(views, orderId)) ? orderUnread() : orderNotFound()
