import { createMachine } from 'xstate'

const reservations = (status: string) => ({ ReservationRefused: status, ReservationReleased: status, ReservationUsed: status })

/** Which fact may follow in which status. What was reserved is released or used whatever became of the offer. */
export const offerMachine = createMachine({
  id: 'offer',
  initial: 'NONE',
  states: {
    NONE: { on: { OfferCreated: 'ENABLED' } },
    ENABLED: {
      on: {
        OfferUpdated: 'ENABLED',
        OfferDisabled: 'DISABLED',
        OfferDisabledByAdmin: 'ADMIN_DISABLED',
        CapacityReserved: 'ENABLED',
        ...reservations('ENABLED'),
      },
    },
    DISABLED: {
      on: {
        OfferUpdated: 'DISABLED',
        OfferEnabled: 'ENABLED',
        OfferDisabledByAdmin: 'ADMIN_DISABLED',
        ...reservations('DISABLED'),
      },
    },
    ADMIN_DISABLED: { on: { OfferUpdated: 'ADMIN_DISABLED', OfferEnabledByAdmin: 'ENABLED', ...reservations('ADMIN_DISABLED') } },
  },
})
