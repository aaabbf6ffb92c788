(** A program with a branch and a loop: the theorem says something of it, and wrong rules break its hypotheses.
    docs/theory.md, "One theorem". *)

From Coq Require Import List ZArith Lia Bool.
Import ListNotations.
From Absint Require Import Programs Memo Analysis Invariant Soundness Terms Control.

Set Implicit Arguments.
Local Open Scope Z_scope.

(** x: [N], w: [C], a limit of trips and a condition from data, y: [K].

    4 = If(3) { 10 = Concat(x, w) } else { 11 = Add(w, w); 12 = Concat(x, 11) }
    5 = Loop(2, 3, x) { 21 = Concat(20, w) }, where 20 is the carried value
    7 = Add(4, y)
    8 = Reshape(5, [-1, 2]) *)

Definition loop := {| limit := 2; first := 3; start := 0; head := 20; go := 3; back := 21; scan := 21 |}%nat.
Definition op n o reads (rest : block nat operator) := Then (Op n o reads) rest.
Definition program : block nat operator := (
  op 0 (Declared [0]) [] (op 1 (Declared [1]) [] (op 2 Number [] (op 3 Number [] (
  Then (If 4 3 (op 10 Concat [0; 1] Done) 10 (op 11 Add [1; 1] (op 12 Concat [0; 11] Done)) 12) (
  Then (Loop 5 loop (op 21 Concat [20; 1] Done)) (
  op 6 (Declared [2]) [] (op 7 Add [4; 6] (op 8 (Reshape 2) [5] Done)))))))))%nat.

Definition N := Sym (Input 0%nat).
Definition C := Sym (Input 1%nat).
Definition trips_made : symbol := Own 5%nat Trips.
Definition carried count := Plus N (Times (Sym count) C).

(** What an analysis finds. At the head and at the exit it guesses closed forms, which the check holds against the
    body. *)
Definition out n (s : summary terms) : state := output (filled_at n s).
Definition own_item n := Known (Sym (Own n Item)).
Definition f0 := rule (Declared [0%nat]) [].
Definition f1 := rule (Declared [1%nat]) [].
Definition f2 := rule Number [].
Definition f6 := rule (Declared [2%nat]) [].
Definition s0 := out 0%nat f0.
Definition s1 := out 1%nat f1.
Definition f10 := rule Concat [s0; s1].
Definition f11 := rule Add [s1; s1].
Definition f12 := rule Concat [s0; out 11%nat f11].
Definition f4 := join [3; 2; 1; 0]%nat (out 3%nat f2) (out 10%nat f10) (out 12%nat f12).
Definition s20 := Tensor [Known (carried (Own 20%nat Trip))] (own_item 20).
Definition f21 := rule Concat [s20; s1].
Definition f20 := at_head [4; 3; 2; 1; 0]%nat 20%nat s0 (out 21%nat f21).
Definition s5 := Tensor [Known (carried trips_made)] (own_item 5).
Definition f5 := at_exit [4; 3; 2; 1; 0]%nat loop (fun n => if Nat.eqb n 20 then s20 else out 2%nat f2).
Definition f7 := rule Add [out 4%nat f4; out 6%nat f6].
Definition f8 := rule (Reshape 2) [s5].

Definition found_at n : summary terms :=
  match n with
  | 0 => f0 | 1 => f1 | 2 => f2 | 3 => f2 | 4 => f4 | 5 => f5 | 6 => f6 | 7 => f7 | 8 => f8
  | 10 => f10 | 11 => f11 | 12 => f12 | 20 => f20 | 21 => f21
  | _ => unknown
  end%nat.
Definition state_at n : state :=
  match n with
  | 5 => s5 | 20 => s20
  | _ => out n (found_at n)
  end%nat.
Definition depth n := if Nat.leb 10 n then 1%nat else 0%nat.
Definition declared (nu : valuation) := forall x, 0 <= nu (Input x).
Definition found : analysis rules := {| granted := declared : facts rules; solution := state_at;
  Analysis.found := found_at |}.
Definition allowed (sigma : binding nat) := forall x, 0 <= sigma x.
Definition all_needed (n : nat) := True.

Definition dims_within p d := match d with Known t => within p t | _ => true end.
Definition state_within p a := match a with Any => true | Tensor dims e => forallb (dims_within p) dims &&
  dims_within p e end.

Lemma state_speaks p a v : state_within p a = true -> speaks_of (fun s => p s = true) (fun nu => means nu a v).
Proof.
  intros inside nu mu same. destruct a as [| dims e]; simpl in *; auto. rewrite andb_true_iff, forallb_forall in inside.
  assert (one : forall d k, dims_within p d = true -> is_size nu d k -> is_size mu d k).
  { intros [t |] k is; simpl in *; auto. intros <-. symmetry. now apply same_number with p. }
  destruct inside as [each last]. intros [meant is]. split; auto.
  induction meant; constructor; [apply one; simpl in *; auto |]. apply IHmeant. simpl in each. auto.
Qed.

Definition visible_or_hole before s := visible before s || match s with Hole _ => true | _ => false end.

Lemma speaks_as_known before (p : valuation -> Prop) :
  speaks_of (fun s => visible before s = true) p -> speaks_of (known before) p.
Proof. intros speaks nu mu same. apply speaks. intros s inside%visible_is_known. auto. Qed.

Lemma speaks_as_known_or_hole before (p : valuation -> Prop) :
  speaks_of (fun s => visible_or_hole before s = true) p -> speaks_of (fun s => known before s \/ is_hole s) p.
Proof.
  intros speaks nu mu same. apply speaks. intros s inside. apply same. unfold visible_or_hole in inside.
  apply orb_true_iff in inside. destruct inside as [inside%visible_is_known | inside]; auto.
  right. now destruct s.
Qed.

(** An operator's state is what its rule gives: only the symbols are left to look at. *)
Lemma accepted (F : valuation -> Prop) before n :
  existsb (Nat.eqb n) before = false ->
  state_within (visible_or_hole before) (output (found_at n)) = true ->
  speaks_of (fun s => known before s \/ is_hole s) (stated (found_at n)) ->
  state_within (visible (n :: before)) (state_at n) = true ->
  (forall nu v, F nu -> stated (filled_at n (found_at n)) nu -> means nu (out n (found_at n)) v -> means nu (state_at
      n) v) ->
  accepts found F before n.
Proof.
  intros new inside said stored above. split; [| split; [| split; [| split]]].
  - intro old. assert (existsb (Nat.eqb n) before = true); [| congruence].
    apply existsb_exists. exists n. split; [exact old | apply Nat.eqb_refl].
  - intro v. apply speaks_as_known_or_hole, state_speaks, inside.
  - exact said.
  - intro v. apply speaks_as_known, state_speaks, stored.
  - exact above.
Qed.

Ltac symbols nu mu same list :=
  match list with
  | ?s :: ?rest => (let same_here := fresh in assert (same_here : nu s = mu s) by (apply same; simpl; tauto);
      rewrite ?same_here; clear same_here) || idtac; symbols nu mu same rest
  | _ => idtac
  end.
Ltac operator_is_accepted :=
  split; [reflexivity | split; [apply accepted; [reflexivity | reflexivity | | reflexivity | intros; assumption] |
    split; [intros m is_read; simpl in *; tauto | left; reflexivity]]];
  intros nu mu same; unfold stated; simpl; unfold nothing;
  symbols nu mu same (Input 0%nat :: Input 1%nat :: Input 2%nat :: trips_made :: (Own 20%nat Trip : symbol)
    :: (Hole (Axis 0) : symbol) :: (Hole (Axis 1) : symbol) :: @nil symbol); auto.

Lemma head_speaks before h a b : speaks_of (fun s => known before s \/ is_hole s) (stated (at_head before h a b)).
Proof.
  intros nu mu same. unfold at_head.
  destruct a as [| ds d]; [intros; now repeat split |]. destruct b as [| es e]; [intros; now repeat split |].
  destruct (Nat.eqb (length ds) (length es)); [| intros; now repeat split].
  intros [_ (natural & first & later)]. split; [exact I |]. simpl in *.
  assert (trip : nu (Hole Trip) = mu (Hole Trip)) by (apply same; simpl; auto). rewrite trip in *.
  split; [exact natural | split]; intros now' i t is inside; rewrite <- (same (Hole (Axis i))) by (simpl; auto).
  - rewrite (first now' i t is inside). apply same_number with (visible before); auto.
    intros s seen%visible_is_known. auto.
  - rewrite (later now' i t is inside). apply same_number with (over before h); auto.
    intros s seen. unfold earlier. rewrite trip. destruct (symbol_eq s (Own h Trip)) as [| other] eqn:is_trip; auto.
    unfold over in seen. rewrite is_trip, orb_false_r in seen. apply same. left. now apply visible_is_known.
Qed.

Lemma exit_speaks before p s : speaks_of (fun x => known before x \/ is_hole x) (stated (at_exit before p s)).
Proof.
  intros nu mu same. unfold at_exit. destruct (s (head p)) as [| ds d]; [intros; now repeat split |].
  intros [_ (natural & below & last)]. split; [exact I |]. simpl in *.
  assert (trip : nu (Hole Trips) = mu (Hole Trips)) by (apply same; simpl; auto). rewrite trip in *.
  split; [exact natural | split].
  - intros t is inside. rewrite <- (@same_number (visible before) nu mu t); auto. intros x seen%visible_is_known. auto.
  - intros i t is inside. rewrite <- (same (Hole (Axis i))) by (simpl; auto). rewrite (last i t is inside).
    apply same_number with (over before (head p)); auto.
    intros x seen. unfold at_last. rewrite trip. destruct (symbol_eq x (Own (head p) Trip)) as [| other] eqn:is_trip;
      auto.
    unfold over in seen. rewrite is_trip, orb_false_r in seen. apply same. left. now apply visible_is_known.
Qed.

Lemma declared_is_about before : about rules before declared.
Proof. intros sigma e nu mu [one _] [two _] _ is x. specialize (is x). rewrite (one x) in is. now rewrite (two x). Qed.

Lemma branch_is_about before a b :
  state_within (visible before) a = true -> about rules before (given declared a b).
Proof.
  intros inside sigma e nu mu one two same [is (v & meant & decided)].
  split; [exact (declared_is_about one two same is) |]. exists v. split; auto.
  exact (speaks_as_known (state_speaks _ a v inside) same meant).
Qed.

Lemma trip_is_about : about rules [20; 4; 3; 2; 1; 0]%nat (in_trip 20%nat declared (state_at 2)).
Proof.
  intros sigma e nu mu one two same [is below]. split; [exact (declared_is_about one two same is) |].
  intros t is_t. specialize (below t is_t). injection is_t as <-. simpl in *.
  rewrite <- !same by (simpl; tauto). exact below.
Qed.

Theorem example_is_verified : verified semantics found depth program.
Proof.
  unfold verified, program, op.
  do 4 (split; [operator_is_accepted | split; [exact I |]]).
  split; [| split].
  - split; [reflexivity | split; [| split; [simpl; tauto | reflexivity]]].
    apply accepted; [reflexivity .. | intros nu mu same _; now repeat split | reflexivity | intros; assumption].
  - split; intros _; (split; [now apply branch_is_about |]).
    + split; [operator_is_accepted | split; exact I].
    + do 2 (split; [operator_is_accepted | split; [exact I |]]). exact I.
  - split; [| split].
    + split; [reflexivity | split; [| split; [intros m; simpl; tauto | split; [reflexivity | split; [| split;
      reflexivity]]]]].
      * apply accepted; [reflexivity .. | apply exit_speaks | reflexivity |].
        intros nu v _ [_ (_ & _ & sizes)] [meant is]. split; [| exact is].
        inversion_clear meant as [| d k ds ks is_k none].
        inversion_clear none. constructor; [| constructor]. simpl in is_k. subst k.
        symmetry. exact (sizes 0%nat _ eq_refl eq_refl).
      * apply accepted; [reflexivity .. | apply head_speaks | reflexivity |].
        intros nu v _ [_ (natural & first & later)] [meant is]. split; [| exact is].
        inversion_clear meant as [| d k ds ks is_k none]. inversion_clear none. constructor; [| constructor].
        simpl in *. subst k. destruct (Z.eq_dec (nu (Own 20%nat Trip)) 0) as [zero | more].
        -- rewrite zero. pose proof (first zero 0%nat _ eq_refl eq_refl) as axis. simpl in axis. rewrite axis. lia.
        -- assert (at_least : 1 <= nu (Own 20%nat Trip)) by lia.
           pose proof (later at_least 0%nat _ eq_refl eq_refl) as axis. simpl in axis. rewrite axis.
           unfold earlier. simpl. lia.
    + split; [apply trip_is_about | split; [operator_is_accepted | split; exact I]].
    + do 3 (split; [operator_is_accepted | split; [exact I |]]). exact I.
Qed.

(** * What the theorem says of it *)

Definition outcome sigma e := outcome_is semantics all_needed program sigma e.

Lemma example_is_sound sigma (is_allowed : allowed sigma) :
  (forall c e, reaches semantics sigma all_needed program c -> leads semantics all_needed sigma c (finished operator
      e) ->
    claims_hold found sigma c) /\
  (forall e (relation : valuation -> Prop), outcome sigma e -> entailed Trips all_needed program found sigma relation ->
    exists nu, extends sigma nu /\ covers found nu e /\ relation nu) /\
  (entailed Trips all_needed program found sigma (fun _ => False) -> forall e, ~ outcome sigma e).
Proof.
  apply (every_claim_holds_and_no_excluded_size_runs (trip := Trip) (trips := Trips) Nat.eq_dec (depth := depth)
    (allowed := allowed));
    auto using rules_are_a_sound_table.
  - apply first_round; [apply declared_is_about |]. intros sigma' nu is_allowed' extended x. rewrite extended.
  apply is_allowed'.
  - exact example_is_verified.
Qed.

Definition node_7 (nu : valuation) := let n := nu (Input 0%nat) + nu (Input 1%nat) in let k := nu (Input 2%nat) in
  n = k \/ n = 1 \/ k = 1.

Lemma node_7_requires sigma : entailed Trips all_needed program found sigma node_7.
Proof.
  intros nu _ _ all. assert (stated (summary_at found 7%nat) nu) as [[required _] _]; [| exact required].
  apply all. unfold program, op. do 7 apply collected_later. apply (collected_here Trips found all_needed _ (Op 7%nat
    Add _)). exact I.
Qed.

(** The branch gives N + C whichever is taken, the loop N and so many times C, and Add has an input of N + C. *)
Theorem example_claims sigma e :
  allowed sigma -> outcome sigma e ->
  exists trips, (forall v, In (4%nat, Some v) e -> sizes v = [sigma 0%nat + sigma 1%nat]) /\
    (forall v, In (5%nat, Some v) e -> sizes v = [sigma 0%nat + trips * sigma 1%nat]) /\
    let n := sigma 0%nat + sigma 1%nat in let k := sigma 2%nat in n = k \/ n = 1 \/ k = 1.
Proof.
  intros is_allowed is_outcome. destruct (example_is_sound is_allowed) as (_ & claims & _).
  destruct (claims e node_7 is_outcome (@node_7_requires sigma)) as (nu & extended & covered & seven).
  exists (nu trips_made). unfold node_7 in seven. rewrite !extended in seven. split; [| split; [| exact seven]].
  - intros v inside. destruct (covered _ _ inside) as [[meant _] _]. inversion_clear meant as [| d k ds ks is_k none].
    inversion_clear none. simpl in is_k. now rewrite !extended in is_k; subst.
  - intros v inside. destruct (covered _ _ inside) as [[meant _] _]. inversion_clear meant as [| d k ds ks is_k none].
    inversion_clear none. simpl in is_k. now rewrite !extended in is_k; subst.
Qed.

Definition binding_of n c k : binding nat := fun x => nth x [n; c; k] 0.

Theorem example_excludes e : ~ outcome (binding_of 2 3 4) e.
Proof.
  assert (is_allowed : allowed (binding_of 2 3 4)) by (intros [| [| [| [| x]]]]; unfold binding_of; simpl; lia).
  destruct (example_is_sound is_allowed) as (_ & _ & excluded). apply excluded.
  intros nu extended known all. pose proof (@node_7_requires (binding_of 2 3 4) nu extended known all) as seven.
  unfold node_7 in seven. rewrite !extended in seven. unfold binding_of in seven; simpl in seven. lia.
Qed.

(** There are runs: here the loop makes no trip. *)
Definition two := {| sizes := [2]; item := 0 |}.
Definition nought := {| sizes := []; item := 0 |}.
Definition four := {| sizes := [4]; item := 0 |}.
Definition table_of_two := {| sizes := [2; 1]; item := 0 |}.
Definition example_outcome : env nat value :=
  [(8, Some table_of_two); (7, Some four); (6, Some four); (5, Some two); (4, Some four);
   (3, Some nought); (2, Some nought); (1, Some two); (0, Some two)]%nat.

Ltac computes_next run inputs result :=
  eapply reaches_next in run;
    [| apply step_operator with (vs := inputs) (v := result); [repeat apply Forall2_cons; simpl; auto 12 | simpl;
      auto]].

Theorem example_runs : outcome (binding_of 2 2 4) example_outcome.
Proof.
  assert (run := reaches_start semantics (binding_of 2 2 4) all_needed program). unfold program, op in run.
  computes_next run (@nil value) two. computes_next run (@nil value) two.
  computes_next run (@nil value) nought. computes_next run (@nil value) nought.
  eapply reaches_next in run; [| apply step_branch with (v := nought) (taken := false); [simpl; tauto | reflexivity]].
  computes_next run [two; two] two.
  computes_next run [two; two] four.
  eapply reaches_next in run; [| apply step_join with (v := four); simpl; tauto].
  eapply reaches_next in run; [| apply step_start with (v := two) (m := nought) (c := nought); simpl; tauto].
  eapply reaches_next in run;
    [| apply step_exit with (v := two) (w := two); [unfold semantics, stops, enters; simpl; lia | simpl;
      tauto | reflexivity]].
  computes_next run (@nil value) four.
  computes_next run [four; four] four.
  computes_next run [two] table_of_two; [| split; [lia | exists 1; repeat split; lia]].
  exact run.
Qed.

(** * Legal sizes: no operator fails, however often the loop goes round *)

Scheme block_induction := Induction for block Sort Prop
  with statement_induction := Induction for statement Sort Prop.

Lemma everywhere_both (A : analysis rules) (q r : facts rules -> list nat -> nat -> statement nat operator -> Prop) b :
  forall F before level, everywhere semantics A q F before level b -> everywhere semantics A r F before level b ->
  everywhere semantics A (fun F before level s => q F before level s /\ r F before level s) F before level b.
Proof.
  apply (block_induction
    (fun b => forall F before level,
      everywhere semantics A q F before level b -> everywhere semantics A r F before level b ->
      everywhere semantics A (fun F before level s => q F before level s /\ r F before level s) F before level b)
    (fun s => forall F before level, inside semantics A q F before level s -> inside semantics A r F before level s ->
      inside semantics A (fun F before level s => q F before level s /\ r F before level s) F before level s));
    simpl; auto.
  - intros s one rest two F before level (q_here & q_in & q_rest) (r_here & r_in & r_rest).
    split; [split; assumption | split; [apply one; assumption | apply two; assumption]].
  - intros n c yes one y no two z F before level [q_yes q_no] [r_yes r_no].
    split; intro taken; split.
    + apply (q_yes taken).
    + apply one; [apply (q_yes taken) | apply (r_yes taken)].
    + apply (q_no taken).
    + apply two; [apply (q_no taken) | apply (r_no taken)].
  - intros n p body one F before level [about_trip q_body] [_ r_body].
    split; [exact about_trip | apply one; assumption].
Qed.

Definition runs sigma o vs := exists v, computes sigma o vs v.
Definition legal sigma :=
  everywhere semantics found (legal_here found runs sigma) (declared : facts rules) [] 0 program.

Lemma row nu t e v : means nu (Tensor [Known t] e) v -> sizes v = [number nu t].
Proof.
  intros [meant _]. inversion_clear meant as [| d k ds ks is_k none]. inversion_clear none. simpl in is_k. congruence.
Qed.

Lemma two_rows nu s t e f vs : Forall2 (means nu) [Tensor [Known s] e; Tensor [Known t] f] vs ->
  exists x y, vs = [x; y] /\ sizes x = [number nu s] /\ sizes y = [number nu t].
Proof.
  intro meant. inversion_clear meant as [| a x ? ? is_x rest]. inversion_clear rest as [| b y ? ? is_y none].
  inversion_clear none. exists x, y. split; [reflexivity | split; eapply row; eauto].
Qed.

Lemma concat_runs sigma nu s t e f vs :
  Forall2 (means nu) [Tensor [Known s] e; Tensor [Known t] f] vs -> runs sigma Concat vs.
Proof.
  intros (x & y & -> & is_x & is_y)%two_rows. exists {| sizes := [number nu s + number nu t]; item := 0 |}.
  simpl. rewrite is_x, is_y. auto.
Qed.

Lemma add_runs sigma nu s t e f vs : Forall2 (means nu) [Tensor [Known s] e; Tensor [Known t] f] vs ->
  number nu s = number nu t \/ number nu s = 1 \/ number nu t = 1 -> runs sigma Add vs.
Proof.
  intros (x & y & -> & is_x & is_y)%two_rows either.
  exists {| sizes := [broadcast (number nu s) (number nu t)]; item := 0 |}. simpl. rewrite is_x, is_y. simpl. auto.
Qed.

Lemma data_runs sigma nu o vs v : Forall2 (means nu) [] vs -> computes sigma o [] v -> runs sigma o vs.
Proof. intros meant computed. inversion_clear meant. exists v. exact computed. Qed.

Definition table_of (n : Z) := {| sizes := [2; n]; item := 0 |}.

Theorem example_is_legal : legal (binding_of 2 2 4).
Proof.
  unfold legal, program, op.
  do 2 (split; [split; [now intros | intros nu vs _ _ meant _; eapply data_runs with (v := two); eauto; reflexivity] |
    split; [exact I |]]).
  do 2 (split;
    [split; [now intros | intros nu vs _ _ meant _; eapply data_runs with (v := nought); eauto; reflexivity] |
    split; [exact I |]]).
  split; [exact I | split; [split; intros _; (split; [now apply branch_is_about |]) |]].
  - split; [| split; exact I].
    split; [intros; split; [reflexivity | constructor] | intros nu vs _ _ meant _; eapply concat_runs; exact meant].
  - split; [| split; [exact I |]].
    split; [intros; simpl; auto | intros nu vs _ _ meant _; eapply add_runs; [exact meant | auto]].
    split; [| split; exact I].
    split; [intros; split; [reflexivity | constructor] | intros nu vs _ _ meant _; eapply concat_runs; exact meant].
  - split; [exact I | split; [split; [exact trip_is_about |] |]].
    + split; [| split; exact I].
      split; [intros; split; [reflexivity | constructor] | intros nu vs _ _ meant _; eapply concat_runs; exact meant].
    + split; [split; [now intros | intros nu vs _ _ meant _; eapply data_runs with (v := four); eauto; reflexivity] |
        split; [exact I |]].
      split; [split | split; [exact I |]].
      * intros nu extended _. simpl. rewrite !extended. unfold binding_of. simpl. auto.
      * intros nu vs _ _ meant [either _]. eapply add_runs; [exact meant | exact either].
      * split; [split | split; exact I].
        -- intros nu extended _. change (((nu (Input 0%nat) + nu trips_made * nu (Input 1%nat)) * 1) mod 2 = 0).
           rewrite !extended. change (((2 + nu trips_made * 2) * 1) mod 2 = 0).
           apply Z.mod_divide; [lia |]. exists (1 + nu trips_made). lia.
        -- intros nu vs _ _ meant even. inversion_clear meant as [| a x ? ? is_x none]. inversion_clear none.
           apply row in is_x. simpl in even, is_x. rewrite Z.mul_1_r in even.
           exists (table_of (number nu (carried trips_made) / 2)). split; [lia |].
           exists (number nu (carried trips_made) / 2). split; [| reflexivity]. rewrite is_x. simpl.
           rewrite Z.mul_1_r, Z.mul_comm. symmetry. apply Z.div_exact; [lia | exact even].
Qed.

Theorem example_does_not_fail n o reads rest e K vs :
  reaches semantics (binding_of 2 2 4) all_needed program (Running (Then (Op n o reads) rest), e, K) ->
  Forall2 (fun m w => In (m, Some w) e) reads vs -> runs (binding_of 2 2 4) o vs.
Proof.
  assert (is_allowed : allowed (binding_of 2 2 4)) by (intros [| [| [| [| x]]]]; unfold binding_of; simpl; lia).
  apply (@legal_sizes_do_not_fail _ _ _ _ _ Trip Trips Nat.eq_dec terms rules semantics depth all_needed program
    allowed runs found);
    auto using rules_are_a_sound_table, declared_is_about.
  - intros sigma nu is_allowed' extended x. rewrite extended. apply is_allowed'.
  - apply everywhere_both; [exact example_is_verified | exact example_is_legal].
Qed.

(** * Wrong rules and wrong guesses *)

(** Add takes its first input's sizes: 1 and 5 broadcast to 5. *)
Definition first_of_both (o : operator) (states : list state) :=
  match o, states with
  | Add, [Tensor xs _; _] => tensor xs nothing nothing
  | _, _ => rule o states
  end.
Definition wrong_rules : table operator terms :=
  Build_table (operator := operator) (D := terms) (fun F : valuation -> Prop => F) (fun _ => first_of_both)
    (fun _ _ _ => false) given in_trip (fun before _ => join before) (fun before _ => at_head before)
    (fun before _ => at_exit before).

Theorem a_wrong_rule_is_no_sound_table : ~ sound_table Trip Trips wrong_rules semantics.
Proof.
  intro sound. set (row k := {| sizes := [k]; item := 0 |}). set (state k := Tensor [Known (Const k)] (Known (Const
    0))).
  assert (covers_result (fun _ => 0) (first_of_both Add [state 1;
    state 5]) (row 5) (@anyhow _ _ _)) as (mu & _ & [meant _] & _).
  { apply (@rule_is_sound _ _ _ _ _ _ _ _ wrong_rules semantics sound (fun _ => 0) (fun _ => 0) (fun _ => True)
      Add [state 1; state 5] [row 1; row 5]); simpl; auto.
    - intro x. reflexivity.
    - repeat apply Forall_cons; [intros v nu mu _; apply (@state_speaks (fun _ => false));
      [reflexivity | discriminate] .. | apply Forall_nil].
    - repeat apply Forall2_cons; [split; repeat constructor .. | apply Forall2_nil]. }
  inversion_clear meant as [| d k ds ks is_k none]. simpl in is_k. discriminate.
Qed.

(** A guess that the carried value grows by N in each trip: the body adds C. *)
Definition guessed n : state := if Nat.eqb n 20 then Tensor [Known (Plus N (Times (Sym (Own 20%nat Trip)) N))]
  (own_item 20) else state_at n.
Definition found_wrong n : summary terms :=
  if Nat.eqb n 20 then at_head [4; 3; 2; 1; 0]%nat 20%nat s0 (out 21%nat (rule Concat [guessed 20;
    s1])) else found_at n.
Definition wrongly_found : analysis rules :=
  {| granted := declared : facts rules; solution := guessed; Analysis.found := found_wrong |}.

Theorem a_wrong_guess_is_not_accepted before : ~ accepts wrongly_found declared before 20%nat.
Proof.
  intros (_ & _ & _ & _ & above).
  set (nu := (fun s => match s with Input 0%nat => 5 | Input _ => 1 | Own _ (Axis _) => 6 | Own _ Trip => 1 | _ => 0
    end) : valuation).
  specialize (above nu {| sizes := [6]; item := 0 |}).
  assert (means nu (guessed 20%nat) {| sizes := [6]; item := 0 |}) as [meant _].
  - apply above.
    + intros [| x]; simpl; lia.
    + split; [exact I |]. split; [simpl; lia | split; simpl; [lia |]].
      intros _ [| [|]] t is inside; simpl in is; try discriminate. injection is as <-. reflexivity.
    + repeat constructor.
  - inversion_clear meant as [| d k ds ks is_k none]. simpl in is_k. discriminate.
Qed.
