package yarn

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
)

// ReservationID names a reservation: reservation_<cluster>_<number>.
type ReservationID struct {
	Cluster int64
	Number  int64
}

func (r ReservationID) String() string {
	return fmt.Sprintf("reservation_%d_%04d", r.Cluster, r.Number)
}

// Proto is the wire's form.
func (r ReservationID) Proto() *yarnpb.ReservationId {
	return &yarnpb.ReservationId{Id: proto.Int64(r.Number), ClusterTimestamp: proto.Int64(r.Cluster)}
}

// ReservationOf reads the wire's form.
func ReservationOf(p *yarnpb.ReservationId) ReservationID {
	return ReservationID{Cluster: p.GetClusterTimestamp(), Number: p.GetId()}
}

// ParseReservation reads "reservation_1700000000000_0001".
func ParseReservation(s string) (ReservationID, error) {
	n, ok := numbers(s, "reservation_", 2)
	if !ok {
		return ReservationID{}, fmt.Errorf("%q: not a reservation id such as reservation_1700000000000_0001", s)
	}
	return ReservationID{Cluster: n[0], Number: n[1]}, nil
}

// NewReservation gets an id for SubmitReservation.
func (r *RM) NewReservation(ctx context.Context) (ReservationID, error) {
	resp, err := call[yarnpb.GetNewReservationResponse](ctx, r, "getNewReservation", &yarnpb.GetNewReservationRequest{})
	return ReservationOf(resp.GetReservationId()), err
}

// SubmitReservation asks for resources in a span of time: with a concurrency of n,
// n containers at once or none. The queue must be reservable.
func (r *RM) SubmitReservation(ctx context.Context, id ReservationID, queue string, d *yarnpb.ReservationDefinition) error {
	_, err := call[yarnpb.SubmitReservationResponse](ctx, r, "submitReservation",
		&yarnpb.SubmitReservationRequest{Queue: &queue, Definition: d, ReservationId: id.Proto()})
	return err
}

// DeleteReservation gives a reservation back.
func (r *RM) DeleteReservation(ctx context.Context, id ReservationID) error {
	_, err := call[yarnpb.DeleteReservationResponse](ctx, r, "deleteReservation", &yarnpb.DeleteReservationRequest{ReservationId: id.Proto()})
	return err
}

// Reservations lists a queue's reservations, or the one given.
func (r *RM) Reservations(ctx context.Context, queue string, id ReservationID) ([]*yarnpb.ReservationState, error) {
	req := &yarnpb.ListReservationsRequest{Queue: &queue, Allocations: proto.Bool(false)}
	if id != (ReservationID{}) {
		req.ReservationId = proto.String(id.String())
	}
	resp, err := call[yarnpb.ListReservationsResponse](ctx, r, "listReservations", req)
	return resp.GetReservations(), err
}
