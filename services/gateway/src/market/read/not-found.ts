import type { Views } from '@penstock/ports/views.ts'
import type { GraphQLError } from 'graphql'
import { orderNotFound, orderUnavailable } from '../../errors.ts'
import { isOrderUnavailable } from './orders.ts'

/** The error for an order that the caller cannot read: unavailable if only its settlement facts are known, else not found. */
export const createNotFoundError = async (views: Pick<Views, 'db'>, orderId: string): Promise<GraphQLError> =>
  (await isOrderUnavailable(views, orderId)) ? orderUnavailable() : orderNotFound()
